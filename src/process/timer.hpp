#pragma once

// Callbacks that do nothing once they come too late, and the timer that all others are made of.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <memory>
#include <utility>

namespace muster {

/// Wraps callbacks of its owner, so that they do nothing after `end`, or once the owner is destroyed. Needed because
/// Asio still calls handlers that completed before they were cancelled.
class CallbackScope {
 public:
  template <typename Call>
  auto wrap(Call call) const {
    return [call = std::move(call), lives = std::weak_ptr<const bool>(lives_)](auto&&... given) {
      if (!lives.expired()) {
        call(std::forward<decltype(given)>(given)...);
      }
    };
  }

  /// Makes all callbacks that were wrapped before do nothing. Later calls of `wrap` give callbacks that work.
  void end() { lives_ = std::make_shared<const bool>(); }

 private:
  std::shared_ptr<const bool> lives_ = std::make_shared<const bool>();
};

/// Makes one call at a time, in the event loop. Another start, `cancel` and the destruction revoke it.
class Timer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Timer(boost::asio::io_context& io) : timer_(io) {}

  template <typename Call>
  void start(std::chrono::nanoseconds delay, Call call) {
    scope_.end();
    is_pending_ = true;
    timer_.expires_after(delay);
    timer_.async_wait(scope_.wrap([this, call = std::move(call)](const boost::system::error_code& error) {
      if (!error) {
        is_pending_ = false;
        call();
      }
    }));
  }
  void cancel() {
    scope_.end();
    timer_.cancel();
    is_pending_ = false;
  }

  bool is_pending() const { return is_pending_; }
  /// Time of the last call that was asked for.
  Clock::time_point expiry() const { return timer_.expiry(); }

 private:
  boost::asio::steady_timer timer_;
  CallbackScope scope_;
  bool is_pending_ = false;
};

}  // namespace muster
