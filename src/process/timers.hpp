#pragma once

// Timers: delayed calls, and the recognition of a stop signal that arrives twice.

#include "process/timer.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>

namespace muster {

/// Calls once, a delay after the first request; further requests until then change nothing.
class DelayedCall {
 public:
  DelayedCall(boost::asio::io_context& io, std::chrono::milliseconds delay, std::function<void()> call)
      : timer_(io), delay_(delay), call_(std::move(call)) {}

  void ask() {
    if (!timer_.is_pending()) {
      timer_.start(delay_, [this] { call_(); });
    }
  }
  void cancel() { timer_.cancel(); }
  bool is_pending() const { return timer_.is_pending(); }

 private:
  Timer timer_;
  std::chrono::milliseconds delay_;
  std::function<void()> call_;
};

/// Calls once after `quiet` without a further request, and after five times that at the latest.
class Debounce {
 public:
  Debounce(boost::asio::io_context& io, std::chrono::milliseconds quiet, std::function<void()> call)
      : timer_(io), quiet_(quiet), call_(std::move(call)) {}

  void ask();
  void cancel() { timer_.cancel(); }

 private:
  Timer timer_;
  std::chrono::milliseconds quiet_;
  std::function<void()> call_;
  Timer::Clock::time_point latest_;
};

/// Recognizes a signal that was sent to every process of a job (`timeout`, systemd, `pkill`): we get it directly, and
/// again from the guard, which forwards it. That is one stop request, not two.
class SignalDebounce {
 public:
  /// True if a stop signal that arrives now is a new request, and not the second copy of one.
  bool is_new(int signal) {
    constexpr std::chrono::milliseconds kEcho{100};
    const auto now = std::chrono::steady_clock::now();
    const bool is_echo = signal == signal_ && now - last_ < kEcho;
    last_ = is_echo ? last_ : now;
    signal_ = signal;
    return !is_echo;
  }

 private:
  int signal_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace muster
