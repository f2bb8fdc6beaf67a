#pragma once

// The control socket, on which a running job answers requests (docs/control.md). Private to src/agent.

#include "base/result.hpp"
#include "control/control.hpp"
#include "process/timer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <sys/socket.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace muster {

/// Listens on a Unix socket that only this user and root can open. A client sends a line and gets a line, as often as
/// it likes. Clients are bounded in number, bytes and time: one that floods or never reads harms only itself.
class ControlServer {
 public:
  /// Answers a request: called at most once, now or later.
  using Reply = std::function<void(std::string line)>;

  explicit ControlServer(boost::asio::io_context& io);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// Handles a request of `client`. The client's pid is 0 if it runs outside our pid namespace.
  std::function<void(const control::Request& request, const ucred& client, Reply reply)> on_request;

  /// Fails if the socket cannot be made, such as for a path of more than 107 bytes.
  [[nodiscard]] Result<> start(const std::string& path);
  /// Closes all clients and removes the socket, so that its directory can be removed quickly.
  void stop();

 private:
  class Client;
  using Protocol = boost::asio::local::stream_protocol;

  void accept();
  void make_room();
  void remove(const std::shared_ptr<Client>& client);

  boost::asio::io_context& io_;
  Protocol::acceptor acceptor_;
  Timer retry_;
  std::vector<std::shared_ptr<Client>> clients_;  ///< oldest first
  std::string path_;                              ///< empty: no socket
  bool is_accepting_ = false;
};

}  // namespace muster
