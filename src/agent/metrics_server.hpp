#pragma once

// The page of metrics over HTTP, for Prometheus. Private to src/agent.

#include "base/result.hpp"
#include "process/timer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace muster {

/// Reads an address such as "127.0.0.1:9400" or "[::1]:9400"; ":9400" stands for each address of this machine. Empty:
/// the text names a file. Fails for a host that is no address.
[[nodiscard]] Result<std::optional<boost::asio::ip::tcp::endpoint>> metrics_endpoint(const Sourced<std::string>& given);

/// Answers GET /metrics. A client has a few seconds for all it does; there are few at a time, and the others wait in
/// the kernel's queue.
class MetricsServer {
 public:
  using Send = std::function<void(std::string page)>;

  explicit MetricsServer(boost::asio::io_context& io) : io_(io), acceptor_(io), retry_(io) {}

  /// Makes the page and passes it to `Send`, now or later. An empty page: it cannot be made.
  std::function<void(Send)> on_request;

  [[nodiscard]] Result<> start(const boost::asio::ip::tcp::endpoint& endpoint);

 private:
  class Client;

  void accept();
  void take(const boost::system::error_code& error, boost::asio::ip::tcp::socket socket);

  boost::asio::io_context& io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  Timer retry_;
  std::size_t clients_ = 0;
  bool is_accepting_ = false;
};

}  // namespace muster
