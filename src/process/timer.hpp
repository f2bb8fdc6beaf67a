#pragma once

// The timer that all others are made of: it never makes a call that is not wanted any more.

#include "base/callback_scope.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <utility>

namespace muster {

/// Makes one call at a time, in the event loop. Another start, `cancel` and the destruction revoke it.
class Timer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Timer(boost::asio::io_context& io) : timer_(io) {}

  void start(std::chrono::nanoseconds delay, std::function<void()> call) {
    timer_.expires_after(delay);
    wait(std::move(call));
  }
  void start_at(Clock::time_point when, std::function<void()> call) {
    timer_.expires_at(when);
    wait(std::move(call));
  }
  void cancel() {
    scope_.end();
    timer_.cancel();
    is_pending_ = false;
  }

  [[nodiscard]] bool is_pending() const { return is_pending_; }
  /// Time of the last call that was asked for.
  [[nodiscard]] Clock::time_point expiry() const { return timer_.expiry(); }

 private:
  void wait(std::function<void()> call) {
    scope_.end();
    is_pending_ = true;
    timer_.async_wait(scope_.wrap([this, call = std::move(call)](const boost::system::error_code& error) {
      if (!error) {
        is_pending_ = false;
        call();
      }
    }));
  }

  boost::asio::steady_timer timer_;
  CallbackScope scope_;
  bool is_pending_ = false;
};

}  // namespace muster
