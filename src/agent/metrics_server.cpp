// Serves the page of metrics: one bounded request of each client, one answer, and the end of the connection.
#include "agent/metrics_server.hpp"

#include "base/endpoint.hpp"
#include "base/text.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <fcntl.h>

#include <chrono>
#include <string_view>
#include <utility>

namespace muster {
namespace {

using boost::asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::size_t kMostMetricsClients = 8;
constexpr std::size_t kMostRequestHead = 8'192;
constexpr std::chrono::seconds kMetricsTimeout{5};

std::string http_answer(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

/// The answer to a request that is refused; empty: it asks for the page.
std::string refusal_of(std::string_view head) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  if (!line.starts_with("GET ")) {
    return http_answer("405 Method Not Allowed", "expected GET\n");
  }
  const std::string_view path = line.substr(4, line.find_first_of(" ?", 4) - 4);
  return path == "/metrics" ? "" : http_answer("404 Not Found", "expected /metrics\n");
}

}  // namespace

Result<std::optional<tcp::endpoint>> metrics_endpoint(const Sourced<std::string>& given) {
  const Endpoint parts = split_endpoint(given.value);
  const auto port = parse_integer(parts.port.value_or(""), 1, kMostPort);
  const bool is_number = given.value.find_first_not_of("0123456789") == std::string::npos;
  const bool is_url = given.value.find("://") != std::string::npos;
  const bool has_port = given.value.find('/') == std::string::npos && given.value.find(':') != std::string::npos;
  if (!is_number && !is_url && !has_port) {
    return std::optional<tcp::endpoint>();
  }
  ErrorCode error;
  const auto address = boost::asio::ip::make_address(parts.host.empty() ? "::" : parts.host, error);
  if (!has_port || !port || error) {
    return wrong_value(given, "an address such as 127.0.0.1:9400 or :9400, or a file");
  }
  return std::optional(tcp::endpoint(address, static_cast<std::uint16_t>(*port)));
}

class MetricsServer::Client : public std::enable_shared_from_this<Client> {
 public:
  Client(MetricsServer& server, tcp::socket socket, std::function<void()> on_closed)
      : server_(server), on_closed_(std::move(on_closed)), socket_(std::move(socket)), timer_(server.io_) {}

  void read() {
    timer_.start(kMetricsTimeout, [this] { close(); });
    boost::asio::async_read_until(
        socket_, boost::asio::dynamic_buffer(head_, kMostRequestHead), "\r\n\r\n",
        [self = shared_from_this()](const ErrorCode& error, std::size_t) { self->on_read(error); });
  }

 private:
  void on_read(const ErrorCode& error) {
    if (error == boost::asio::error::not_found) {
      send(http_answer("431 Request Header Fields Too Large", ""));
    } else if (error) {
      close();
    } else if (auto refusal = refusal_of(head_); !refusal.empty()) {
      send(std::move(refusal));
    } else {
      server_.on_request([self = shared_from_this()](const std::string& page) {
        self->send(page.empty() ? http_answer("503 Service Unavailable", "") : http_answer("200 OK", page));
      });
    }
  }

  void send(std::string answer) {
    answer_ = std::move(answer);
    boost::asio::async_write(socket_, boost::asio::buffer(answer_),
                             [self = shared_from_this()](const ErrorCode&, std::size_t) { self->close(); });
  }

  void close() {
    timer_.cancel();
    ErrorCode ignored;  // the client may be gone
    socket_.close(ignored);
    if (const auto on_closed = std::exchange(on_closed_, nullptr)) {
      on_closed();
    }
  }

  MetricsServer& server_;
  std::function<void()> on_closed_;  ///< empty: called already
  tcp::socket socket_;
  Timer timer_;
  std::string head_;
  std::string answer_;
};

Result<> MetricsServer::start(const tcp::endpoint& endpoint) {
  ErrorCode error;
  tcp::endpoint wanted = endpoint;
  acceptor_.open(wanted.protocol(), error);
  if (error && wanted.address().is_unspecified()) {  // a kernel without IPv6
    wanted = tcp::endpoint(tcp::v4(), wanted.port());
    acceptor_.open(wanted.protocol(), error);
  }
  if (!error) {
    (void)::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);  // workers must not inherit it
    ErrorCode ignored;                                              // bind says what is wrong
    acceptor_.set_option(tcp::acceptor::reuse_address(true), ignored);
    if (wanted.address().is_v6() && wanted.address().is_unspecified()) {
      acceptor_.set_option(boost::asio::ip::v6_only(false), ignored);
    }
    acceptor_.bind(wanted, error);
  }
  if (!error) {
    acceptor_.listen(tcp::acceptor::max_listen_connections, error);
  }
  if (error) {
    return system_error("cannot listen for --metrics on port " + std::to_string(wanted.port()), error.value());
  }
  accept();
  return {};
}

void MetricsServer::accept() {
  if (is_accepting_ || clients_ >= kMostMetricsClients) {
    return;
  }
  is_accepting_ = true;
  acceptor_.async_accept([this](const ErrorCode& error, tcp::socket socket) {
    if (error != boost::asio::error::operation_aborted) {
      take(error, std::move(socket));
    }
  });
}

void MetricsServer::take(const ErrorCode& error, tcp::socket socket) {
  is_accepting_ = false;
  if (error) {  // no descriptor is left: at once the kernel would fail again
    retry_.start(kMetricsTimeout, std::bind_front(&MetricsServer::accept, this));
    return;
  }
  (void)::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
  ++clients_;
  const auto on_closed = [this] {
    --clients_;
    accept();
  };
  std::make_shared<Client>(*this, std::move(socket), on_closed)->read();
  accept();
}

}  // namespace muster
