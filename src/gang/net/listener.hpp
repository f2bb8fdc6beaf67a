#pragma once

// Listens on ports: the leader's, and those of services.

#include "base/file_io.hpp"
#include "base/result.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace muster::gang {

struct ListenFailure {
  Error error;             ///< of kind System
  bool is_in_use = false;  ///< another socket has the port: a later attempt may find it free
};

struct ListeningSocket {
  UniqueFd fd;               ///< non-blocking, and closed in workers
  bool is_version_6 = true;  ///< false: the host has no IPv6
};
/// Listens on every address of the machine. For port 0 the kernel chooses one.
boost::system::result<ListeningSocket, ListenFailure> listen_everywhere(std::uint16_t port);

/// Accepts connections on every address of the machine. Must not be destroyed in its own callbacks.
class Listener {
 public:
  /// For port 0 the kernel chooses one. Accepts nothing before `start`.
  static boost::system::result<std::unique_ptr<Listener>, ListenFailure> open(boost::asio::io_context& io,
                                                                              std::uint16_t port);

  ~Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Set before `start`.
  std::function<void(boost::asio::ip::tcp::socket)> on_accept;

  /// From now on it logs once if connections cannot be accepted for a while, such as for lack of descriptors.
  void start() { wait(); }

  std::uint16_t port() const { return port_; }

 private:
  Listener(boost::asio::io_context& io, boost::asio::ip::tcp::acceptor acceptor);

  void wait();
  void accept_all();
  /// Returns 0 or an errno.
  int accept_one();
  void rest(int error_number);

  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp protocol_ = boost::asio::ip::tcp::v6();
  boost::asio::steady_timer rest_timer_;
  std::uint16_t port_ = 0;
  bool has_warned_ = false;
};

/// Names the process that has the port, "pid 123 (python3)". Empty: /proc does not show it, because it belongs to
/// another user or container. Scans /proc, which takes tens of milliseconds on a busy machine.
std::string describe_port_holder(std::uint16_t port);

}  // namespace muster::gang
