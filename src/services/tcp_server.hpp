#pragma once

// Opens the ports of services.

#include "services/service.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace muster {

[[nodiscard]] Result<std::unique_ptr<Server>> start_server(boost::asio::io_context& io, ServerEvents events);

// Who may connect to a port of a service: this machine, and the nodes of the job.

class IpAllowList {
 public:
  /// A sentence for the user: one for each address, and only for the first ones.
  std::function<void(const std::string&)> on_remark;

  /// From here on those with these numeric addresses, and this machine. Before, everybody may.
  void admit_only(const std::vector<std::string>& addresses);
  /// `peer`, as `peer_of` has it.
  [[nodiscard]] bool admits(const std::string& peer);

 private:
  void remark(const std::string& peer);

  bool is_open_ = true;
  std::set<std::string> admitted_;
  std::set<std::string> refused_;
};

/// The address of the other end as a number, "127.0.0.1" for all of this machine; empty: it is gone. One of version 4 is
/// shown as such, whatever it came by.
[[nodiscard]] std::string peer_of(boost::asio::ip::tcp::socket& socket);
/// The same of a connected socket whose other end is known.
[[nodiscard]] std::string peer_of(int fd, const boost::asio::ip::tcp::endpoint& remote);

// Opens the named pipes of services.

/// Fails with `System`, also for what is no pipe.
[[nodiscard]] Result<std::unique_ptr<NamedPipe>> open_pipe(boost::asio::io_context& io, const std::string& path,
                                                           PipeEvents events);

}  // namespace muster
