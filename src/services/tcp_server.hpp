#pragma once

// TCP servers and named pipes for services, and the list of addresses that may connect.

#include "services/service.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace muster {

[[nodiscard]] Result<std::unique_ptr<Server>> start_server(boost::asio::io_context& io, ServerEvents events);

// Clients that may connect to a port of a service: this machine, and the nodes of the job.

class IpAllowList {
 public:
  /// A message for the user: once per refused address, and for the first addresses only.
  std::function<void(const std::string&)> on_remark;

  /// Admits only these numeric addresses and this machine from now on. Before this call, all are admitted.
  void admit_only(const std::vector<std::string>& addresses);
  /// `peer`: an address as `peer_of` returns it.
  [[nodiscard]] bool admits(const std::string& peer);

 private:
  void remark(const std::string& peer);

  bool is_open_ = true;
  std::set<std::string> admitted_;
  std::set<std::string> refused_;
};

/// Numeric address of the other end; "127.0.0.1" for all addresses of this machine; empty: the peer is gone. An IPv4
/// address mapped to IPv6 is returned as IPv4.
[[nodiscard]] std::string peer_of(boost::asio::ip::tcp::socket& socket);
/// Likewise, for a connected socket whose other end is known.
[[nodiscard]] std::string peer_of(int fd, const boost::asio::ip::tcp::endpoint& remote);

/// Opens a named pipe for reading. Fails with `System`, also for a file that is not a pipe.
[[nodiscard]] Result<std::unique_ptr<NamedPipe>> open_pipe(boost::asio::io_context& io, const std::string& path,
                                                           PipeEvents events);

}  // namespace muster
