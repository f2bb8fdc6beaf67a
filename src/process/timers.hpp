#pragma once

// The times of an attempt: a look that is taken later, the grace, the rounds of killing. Private to
// run/. A timer that was cancelled calls nothing any more.

#include "process/descendants.hpp"
#include "process/helper_process.hpp"
#include "process/workers.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

namespace muster {

/// Calls once, a moment later, however often it is asked for until then.
class DelayedCall {
 public:
  DelayedCall(boost::asio::io_context& io, std::chrono::milliseconds delay, std::function<void()> look)
      : timer_(io), delay_(delay), call_(std::move(look)) {}

  void ask();
  void cancel();
  [[nodiscard]] bool is_pending() const { return is_pending_; }

 private:
  boost::asio::steady_timer timer_;
  std::chrono::milliseconds delay_;
  std::function<void()> call_;
  bool is_pending_ = false;
};

/// Calls once it has not been asked for a while, and at last after several whiles.
class Debounce {
 public:
  Debounce(boost::asio::io_context& io, std::chrono::milliseconds quiet, std::function<void()> look)
      : timer_(io), quiet_(quiet), call_(std::move(look)) {}

  void ask();
  void cancel();

 private:
  boost::asio::steady_timer timer_;
  std::chrono::milliseconds quiet_;
  std::function<void()> call_;
  std::optional<std::chrono::steady_clock::time_point> latest_;  ///< empty: it is not asked for
};

/// The time between asking workers to end and killing them.
class Grace {
 public:
  Grace(boost::asio::io_context& io, std::chrono::milliseconds length);

  std::function<void()> on_end;
  /// Every ten seconds until then.
  std::function<void()> on_progress;

  void start();
  /// From here on it is not longer than this, and ends no later than so long from now.
  void shorten(std::chrono::milliseconds most);
  void cancel();

  [[nodiscard]] std::chrono::milliseconds length() const { return length_; }
  [[nodiscard]] std::chrono::nanoseconds left() const;

 private:
  void wait();

  boost::asio::steady_timer timer_;
  DelayedCall progress_;
  std::chrono::milliseconds length_;
  bool runs_ = false;
};

/// Killing races with forking, so it goes in rounds until nothing is left.
class KillLoop {
 public:
  KillLoop(boost::asio::io_context& io, const Workers& workers, Sweeper& sweeper, const HelperProcesses& excluded)
      : timer_(io), workers_(workers), sweeper_(sweeper), excluded_(excluded) {}

  /// After each round. `found` was still there at its begin; too late: nobody waits for it any longer.
  std::function<void(const std::vector<Process>& found, bool is_too_late)> on_round;

  void start();
  void cancel();

 private:
  using Clock = std::chrono::steady_clock;

  void wait();
  void round();

  boost::asio::steady_timer timer_;
  const Workers& workers_;
  Sweeper& sweeper_;
  const HelperProcesses& excluded_;
  Clock::time_point deadline_{};
  int blind_rounds_ = 0;  ///< without a worker and without /proc
  bool runs_ = false;
};

// Which signals that ask for the end are new.

/// Whoever signals every process of a job (`timeout`, systemd, `pkill`) reaches the guard, which
/// passes it on, and us: that is one request, not a second one that means "now".
class SignalDebounce {
 public:
  /// True when one that comes now is no echo.
  [[nodiscard]] bool is_new() {
    constexpr std::chrono::milliseconds kEcho{100};
    const auto now = std::chrono::steady_clock::now();
    const bool is_echo = now - last_ < kEcho;
    last_ = is_echo ? last_ : now;
    return !is_echo;
  }

 private:
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace muster
