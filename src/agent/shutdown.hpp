#pragma once

// The end of the agent and of the remote launcher: pending work, drained output, report, last lines, forced exit.

#include "agent/pending_work.hpp"
#include "agent/process_loop.hpp"
#include "base/result.hpp"
#include "process/helper_process.hpp"
#include "process/timers.hpp"

#include <chrono>
#include <functional>
#include <optional>

namespace muster {

/// Makes and prints the exit report of a `Shutdown`.
class ShutdownOwner {
 public:
  virtual ~ShutdownOwner() = default;

  /// Called once, when all other output is written: completes the outcome, and returns a function that writes its
  /// report, to be run in a helper process. Empty: no report is wanted.
  [[nodiscard]] virtual std::function<Result<>()> conclude() = 0;
  /// Prints the last lines. `report`: result of writing the report.
  virtual void print_exit_report(const Result<>& report) = 0;
};

/// Runs a loop while work is pending. The exit report is made after all other output, so that it is the last text on
/// the console, and the loop ends when the consoles have taken that, too.
class Shutdown {
 public:
  /// `stream`: descriptor of the report, if it has no path. The others outlive this.
  Shutdown(ProcessLoop& loop, ShutdownOwner& owner, std::optional<int> stream);

  [[nodiscard]] PendingWork& pending_work() { return pending_work_; }
  /// Runs the loop until no work is pending. Signals and the guard are watched until then, but are not pending work.
  void run();

  /// The job has ended: `finalize` may follow. Files that take nothing for `drain_limit` are given up.
  void begin(std::chrono::milliseconds drain_limit);
  [[nodiscard]] bool has_begun() const { return phase_ != Phase::Running; }
  /// Makes the exit report, as soon as the output is drained.
  void finalize();
  /// True: the outcome is in the report.
  [[nodiscard]] bool is_concluded() const { return phase_ >= Phase::Reporting; }
  /// Keeps the loop running until the consoles have taken all output. To be called when lines may have been logged.
  void wait_for_last_lines();
  /// Exits without waiting for slow consoles or other nodes. Log files and report get a moment; lines dropped then are
  /// counted and reported.
  void exit_now();

  /// Logs pending work with --verbose, if it takes longer than a moment, then every few seconds.
  void watch_end() { exit_log_timer_.ask(); }
  void cancel_watch();

 private:
  enum class Phase {
    Running,
    Draining,
    Reporting,
    LastLines
  };

  void write_report(const std::function<Result<>()>& write);
  void print_exit_report(const Result<>& report);
  void give_up_logs();
  void log_pending_work();

  ProcessLoop& loop_;
  ShutdownOwner& owner_;
  std::optional<int> stream_;
  PendingWork pending_work_;
  Phase phase_ = Phase::Running;
  bool is_forced_ = false;
  HelperTask report_;
  DelayedCall exit_log_timer_;
  DelayedCall repeat_timer_;
  DelayedCall log_flush_timer_;  ///< gives up log files in a forced exit
};

}  // namespace muster
