#pragma once

// The end of the agent and of the remote launcher: pending work, drained output, report, last lines, forced exit.

#include "agent/process_loop.hpp"
#include "base/result.hpp"
#include "process/helper_process.hpp"
#include "process/timers.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Named reasons to keep running, such as "attempt 0" or "goodbye of node 3". The agent's loop runs while there is
/// one. A name is listed once, however often it is added.
class PendingWork {
 public:
  /// `in_detail` lists what is pending now, such as "goodbye of node 4"; an empty list: the name itself.
  void add(const std::string& name, std::function<std::vector<std::string>()> in_detail = {});
  /// Does nothing for an unknown name.
  void remove(const std::string& name);
  /// Drops all reasons and takes no new ones, after a second stop signal.
  void exit_early();

  bool is_empty() const { return reasons_.empty(); }
  /// "attempt 0, goodbye of node 3", in the order of `add`.
  std::string describe() const;

 private:
  struct Reason {
    std::string name;
    std::function<std::vector<std::string>()> in_detail;
  };
  std::vector<Reason> reasons_;
  bool is_leaving_ = false;
};

// The end.

/// Makes and prints the exit report of a `Shutdown`.
class ShutdownOwner {
 public:
  virtual ~ShutdownOwner() = default;

  /// Called once, when all other output is written: completes the outcome, and returns a function that writes its
  /// report, to be run in a helper process. Empty: no report is wanted.
  virtual std::function<Result<>()> conclude() = 0;
  /// Prints the last lines. `report`: result of writing the report.
  virtual void print_exit_report(const Result<>& report) = 0;
};

/// Runs a loop while work is pending. The exit report is made after all other output, so that it is the last text on
/// the console, and the loop ends when the consoles have taken that, too.
///
///   Running ── begin: the job has ended ──▶ Draining ── finalize, and the output is drained ──▶ Reporting
///                                                              conclude() writes the report         │
///   the loop ends ◀── the consoles have taken all ── LastLines ◀── print_exit_report() ─────────────┘
class Shutdown {
 public:
  /// `stream`: descriptor of the report, if it has no path. The others outlive this.
  Shutdown(ProcessLoop& loop, ShutdownOwner& owner, std::optional<int> stream);

  PendingWork& pending_work() { return pending_work_; }
  /// Runs the loop until no work is pending. Signals and the guard are watched until then, but are not pending work.
  void run();

  /// Begins the end, because the job has ended; `finalize` may follow. Files that take nothing for `drain_limit` are given up.
  void begin(std::chrono::milliseconds drain_limit);
  bool has_begun() const { return phase_ != Phase::Running; }
  /// Makes the exit report, as soon as the output is drained.
  void finalize();
  /// True: the outcome is in the report.
  bool is_concluded() const { return phase_ >= Phase::Reporting; }
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
  DelayedCall give_up_timer_;  ///< gives up log files in a forced exit
};

// Work on the files of services, which the end waits for.

/// Writes files in helper processes, one after the other, because the file system may hang.
class ServiceFiles {
 public:
  /// `most_time`: for each write. The list outlives this.
  ServiceFiles(boost::asio::io_context& io, HelperProcesses& helpers, PendingWork& pending,
               std::chrono::milliseconds most_time);

  /// Calls `then` in a later turn of the loop. Logs that it waits for `what` if the work takes long.
  void write(std::string what, HelperTask::Work work, HelperTask::Then then);
  /// Cancels the running `write` and the queued ones. The end waits for `work`, for a moment.
  void remove(HelperTask::Work work);

 private:
  void add(HelperTask::Task task);

  PendingWork& pending_;
  std::chrono::milliseconds most_time_;
  HelperTask task_;
  std::string what_;  ///< the file being written, for messages
  DelayedCall slow_timer_;
};

}  // namespace muster
