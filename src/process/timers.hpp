#pragma once

// Timers: delayed calls, the grace of workers, the rounds of SIGKILL.

#include "process/descendants.hpp"
#include "process/helper_process.hpp"
#include "process/timer.hpp"
#include "process/workers.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>
#include <vector>

namespace muster {

/// Calls once after a delay, however often it is asked for meanwhile.
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
  [[nodiscard]] bool is_pending() const { return timer_.is_pending(); }

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

/// The owner of a grace and of the rounds of SIGKILL that follow it.
class StopTimersOwner {
 public:
  virtual ~StopTimersOwner() = default;

  virtual void on_grace_ended() = 0;
  /// Called every ten seconds until the end of the grace.
  virtual void on_grace_progress() {}
  /// Called after each round of SIGKILL. `found`: processes that existed at its begin; `is_too_late`: the time limit
  /// is over.
  virtual void on_kill_round(const std::vector<Process>& found, bool is_too_late) = 0;
};

/// The time between the stop signal and SIGKILL.
class Grace {
 public:
  Grace(StopTimersOwner& owner, boost::asio::io_context& io, std::chrono::milliseconds length);

  void start();
  /// Limits the length to `most`, and the rest of a running grace as well.
  void shorten(std::chrono::milliseconds most);
  void cancel();

  [[nodiscard]] std::chrono::milliseconds length() const { return length_; }
  [[nodiscard]] std::chrono::nanoseconds left() const;

 private:
  void end_after(std::chrono::milliseconds time) {
    timer_.start(time, [this] { owner_.on_grace_ended(); });
  }

  StopTimersOwner& owner_;
  Timer timer_;
  DelayedCall progress_;
  std::chrono::milliseconds length_;
};

/// Sends SIGKILL in rounds until nothing is left, because killing races with forking.
class KillLoop {
 public:
  KillLoop(StopTimersOwner& owner, boost::asio::io_context& io, const Workers& workers, Sweeper& sweeper,
           const HelperProcesses& excluded)
      : owner_(owner), timer_(io), workers_(workers), sweeper_(sweeper), excluded_(excluded) {}

  void start();
  void cancel() { timer_.cancel(); }

 private:
  using Clock = std::chrono::steady_clock;

  void round();

  StopTimersOwner& owner_;
  Timer timer_;
  const Workers& workers_;
  Sweeper& sweeper_;
  const HelperProcesses& excluded_;
  Clock::time_point deadline_{};
  int blind_rounds_ = 0;  ///< rounds without a living worker and without /proc
};

// Recognition of a stop signal that arrives twice.

/// A signal to every process of a job (`timeout`, systemd, `pkill`) reaches the guard, which forwards it, and us:
/// that is one stop request, not two.
class SignalDebounce {
 public:
  /// True if a stop signal that arrives now is not such an echo.
  [[nodiscard]] bool is_new(int signal) {
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
