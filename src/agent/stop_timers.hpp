#pragma once

// Timers of a stop: the grace of workers, and the rounds of SIGKILL that follow it.

#include "agent/workers.hpp"
#include "process/descendants.hpp"
#include "process/timers.hpp"

#include <boost/asio/io_context.hpp>

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace muster {

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

  std::chrono::milliseconds length() const { return length_; }
  std::chrono::nanoseconds left() const;

 private:
  void end_after(std::chrono::milliseconds time) {
    timer_.start(time, [this] { owner_.on_grace_ended(); });
  }

  StopTimersOwner& owner_;
  Timer timer_;
  DelayedCall progress_;
  std::chrono::milliseconds length_;
};

/// Sends SIGKILL in rounds until nothing is left but what is `excluded`, because killing races with forking.
class KillLoop {
 public:
  KillLoop(StopTimersOwner& owner, boost::asio::io_context& io, const Workers& workers, Sweeper& sweeper,
           std::function<std::set<pid_t>()> excluded)
      : owner_(owner), timer_(io), workers_(workers), sweeper_(sweeper), excluded_(std::move(excluded)) {}

  void start();
  void cancel() { timer_.cancel(); }

 private:
  using Clock = std::chrono::steady_clock;

  void round();

  StopTimersOwner& owner_;
  Timer timer_;
  const Workers& workers_;
  Sweeper& sweeper_;
  std::function<std::set<pid_t>()> excluded_;
  Clock::time_point deadline_{};
  int blind_rounds_ = 0;  ///< rounds without a living worker and without /proc
};

}  // namespace muster
