// Connects to a leader: resolves the name, then tries each address, every step with a timeout. Also describes
// failures and finds this machine's addresses.
#include "gang/net/dialer.hpp"

#include "base/display_text.hpp"
#include "base/file_io.hpp"

#include <boost/asio/steady_timer.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

namespace muster::gang {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

std::string seconds(std::chrono::milliseconds time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g s", std::chrono::duration<double>(time).count());
  return text.data();
}

std::string describe(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  const std::string port = ":" + std::to_string(endpoint.port());
  return endpoint.address().is_v6() ? "[" + address + "]" + port : address + port;
}

}  // namespace

DialFailure describe_dial_failure(const error_code& error, const tcp::endpoint& endpoint,
                                  std::chrono::milliseconds limit) {
  using Kind = DialFailure::Kind;
  switch (error.value()) {
    case ECONNREFUSED:
      return {Kind::Refused, "connection refused by " + describe(endpoint)};
    case ETIMEDOUT:
      return {Kind::TimedOut, "no answer from " + describe(endpoint) + " within " + seconds(limit)};
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
      return {Kind::Unreachable, "no route to " + describe(endpoint)};
    default:
      return {Kind::Other, "cannot connect to " + describe(endpoint) + ": " + error.message()};
  }
}

/// One dial. Lives until it has called back or is cancelled.
class Dialer::Attempt : public std::enable_shared_from_this<Attempt> {
 public:
  Attempt(boost::asio::io_context& io, DialLimits limits, Resolver& resolver, Callback callback)
      : limits_(limits),
        resolver_(resolver),
        socket_(io),
        timer_(io),
        deadline_(Clock::now() + limits.whole),
        callback_(std::move(callback)) {}

  void start(const std::string& host, std::uint16_t port) {
    host_ = host;
    port_ = port;
    timer_.expires_at(deadline_);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error && self->callback_ && self->addresses_.empty()) {
        self->resolver_.leave();
        self->fail_for_the_name("no answer within " + seconds(self->limits_.whole));
      }
    });
    resolver_.resolve(host, [self = shared_from_this()](Result<Resolver::Addresses> found) {
      self->timer_.cancel();
      if (!found) {
        self->fail_for_the_name(found.error().message);
        return;
      }
      self->addresses_ = std::move(*found);
      self->try_next();
    });
  }

  void cancel() {
    callback_ = nullptr;
    resolver_.leave();
    stop();
  }

 private:
  void stop() {
    timer_.cancel();
    error_code ignored;  // nothing was written
    socket_.close(ignored);
  }

  void try_next() {
    while (next_ < addresses_.size() && Clock::now() < deadline_) {
      const tcp::endpoint endpoint(addresses_[next_], port_);
      const error_code error = open(endpoint.protocol());
      if (!error) {
        connect(endpoint);
        return;
      }
      ++next_;
      note(describe_dial_failure(error, endpoint, limits_.address));
    }
    finish(failure_.value_or(
        DialFailure{DialFailure::Kind::TimedOut, "no answer from '" + host_ + "' within " + seconds(limits_.whole)}));
  }

  /// Opens the socket with a system call, because sockets that Asio opens are inherited by workers.
  error_code open(const tcp& protocol) {
    UniqueFd fd(::socket(protocol.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) {
      return {errno, boost::system::system_category()};
    }
    error_code error;
    socket_.assign(protocol, fd.get(), error);
    if (!error) {
      (void)fd.release();  // the socket owns it
    }
    return error;
  }

  void connect(const tcp::endpoint& endpoint) {
    has_timed_out_ = false;
    const auto limit = std::min(Clock::now() + limits_.address, deadline_);
    timer_.expires_at(limit);
    timer_.async_wait([self = shared_from_this(), at = next_](const error_code& error) {
      if (!error && self->next_ == at) {
        self->has_timed_out_ = true;
        error_code ignored;  // nothing was written
        self->socket_.close(ignored);
      }
    });
    socket_.async_connect(endpoint, [self = shared_from_this()](const error_code& error) {
      self->timer_.cancel();
      if (self->callback_) {
        self->on_connect(error);
      }
    });
  }

  void on_connect(error_code error) {
    const tcp::endpoint endpoint(addresses_[next_++], port_);
    if (has_timed_out_) {
      error.assign(ETIMEDOUT, boost::system::system_category());
    } else if (!error && is_connected_to_itself()) {
      error.assign(ECONNREFUSED, boost::system::system_category());
    }
    if (!error) {
      finish(std::move(socket_));
      return;
    }
    stop();
    DialFailure failure = describe_dial_failure(error, endpoint, limits_.address);
    failure.is_here = failure.kind == DialFailure::Kind::Refused && is_own(endpoint.address());
    note(std::move(failure));
    try_next();
  }

  /// A connect to a local port without a listener may get that very port as its source port: then TCP connects the
  /// socket to itself.
  bool is_connected_to_itself() const {
    error_code error;
    const tcp::endpoint local = socket_.local_endpoint(error);
    return !error && local == socket_.remote_endpoint(error) && !error;
  }

  void note(DialFailure failure) {
    if (!failure_ || failure.kind > failure_->kind) {
      failure_ = std::move(failure);
    }
  }

  void fail_for_the_name(const std::string& why) {
    const std::string cause = is_spelled_like_variable(host_) ? ": it looks like a placeholder" : "";
    finish(DialFailure{DialFailure::Kind::NoName, "name '" + host_ + "' does not resolve (" + why + ")" + cause});
  }

  void finish(boost::system::result<tcp::socket, DialFailure> result) {
    if (const Callback callback = std::exchange(callback_, nullptr)) {
      callback(std::move(result));
    }
  }

  DialLimits limits_;
  Resolver& resolver_;  ///< must not be used after the callback was called or dropped
  tcp::socket socket_;
  boost::asio::steady_timer timer_;
  Clock::time_point deadline_;
  Callback callback_;
  std::string host_;
  std::uint16_t port_ = 0;
  Resolver::Addresses addresses_;
  std::size_t next_ = 0;  ///< in `addresses_`
  bool has_timed_out_ = false;
  std::optional<DialFailure> failure_;  ///< the most informative one so far
};

void Dialer::dial(const std::string& host, std::uint16_t port, Callback callback) {
  cancel();
  attempt_ = std::make_shared<Attempt>(io_, limits_, resolver_, std::move(callback));
  attempt_->start(host, port);
}

void Dialer::cancel() {
  if (const auto attempt = std::exchange(attempt_, nullptr)) {
    attempt->cancel();
  }
}

}  // namespace muster::gang
