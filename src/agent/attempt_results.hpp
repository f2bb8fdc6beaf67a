#pragma once

// Results of an attempt: for the gang, for the report, for the control socket and for the log.

#include "agent/attempt_listener.hpp"
#include "agent/run.hpp"
#include "agent/worker_files.hpp"
#include "agent/worker_starter.hpp"
#include "base/ranks.hpp"
#include "control/status.hpp"
#include "gang/events.hpp"
#include "output/worker_streams.hpp"
#include "plan/launch_plan.hpp"
#include "process/timers.hpp"
#include "process/workers.hpp"
#include "services/service.hpp"
#include "supervise/end_hints.hpp"
#include "supervise/supervisor.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

// Warns of a server role that exits too early.

/// A parameter server or scheduler that exits before its workers is usually a mistake; a moment before is normal.
class EarlyServerExit {
 public:
  /// Calls `look` when that moment is over: then `take` has the result.
  EarlyServerExit(boost::asio::io_context& io, const LaunchPlan& plan, const Workers& workers,
                  std::function<void()> check);

  /// A worker ended without a stop signal.
  void note(const Death& death);
  void cancel() { timer_.cancel(); }

  /// Returns each server once that exited with 0 while workers whose success counts run on.
  [[nodiscard]] std::vector<std::size_t> take();

 private:
  const LaunchPlan& plan_;
  const Workers& workers_;
  DelayedCall timer_;
  std::vector<std::size_t> ended_;
};

// Reports of successes to the gang.

/// Selects the few successes that matter to the gang out of thousands: the first one of each role of this node, rank
/// 0, and the last one.
class SuccessReports {
 public:
  SuccessReports(const LaunchPlan& plan, const Workers& workers) : plan_(plan), workers_(workers) {}

  /// The message to the gang, without `attempt`; empty: none.
  [[nodiscard]] std::optional<gang::Succeeded> message_for(const ReportSuccess& success);

 private:
  const LaunchPlan& plan_;
  const Workers& workers_;
  std::set<std::string> announced_roles_;
};

/// Parts of an attempt that know its results.
struct AttemptView {
  const LaunchPlan& plan;
  const Workers& workers;
  const Supervisor& supervisor;
  const WorkerStreams& streams;
  const std::optional<StartFailure>& start_failure;
  const std::optional<ServiceFailure>& service_failure;
  const std::map<std::size_t, std::string>& faults;  ///< services' explanations of workers' failures
  const ErrorFiles& error_files;
  const OomKills& oom_kills;  ///< counted before the first worker; no file: unreadable
};

/// This node's failures.
struct NodeFailures {
  std::optional<Failure> first;  ///< empty: no failure before the stop signal
  OtherFailures others;          ///< in the order in which they ended
};

/// Current state of the workers, without values from /proc.
[[nodiscard]] std::vector<control::WorkerStatus> status_of(const AttemptView& attempt);

[[nodiscard]] std::vector<WorkerResult> results_of(const AttemptView& attempt);

/// Results of a plan that was never started.
[[nodiscard]] std::vector<WorkerResult> results_without_start(const LaunchPlan& plan);

/// Failures with the last lines and error files that have been read.
[[nodiscard]] NodeFailures failures_of(const AttemptView& attempt, const std::string& host_name);

// Messages about an attempt to its user.

/// Logs events, and remembers those that are logged once.
class AttemptLog : public AttemptListener {
 public:
  /// All references outlive this.
  AttemptLog(const LaunchPlan& plan, const Workers& workers, const Supervisor& supervisor, const RunOptions& options)
      : plan_(plan), workers_(workers), supervisor_(supervisor), options_(options) {}

  /// True if the workers got a stop signal by order of the gang, and its reason was logged.
  [[nodiscard]] bool has_logged_order() const { return has_logged_order_; }

  /// One text, "ranks 0-3"; empty: no worker is alive.
  [[nodiscard]] std::vector<std::string> describe_living() const;

  void on_started(std::size_t worker) override;
  void on_ended(const Death& death) override;
  void on_silent(std::size_t worker) override;
  void on_stopped(const Stopped& stopped) override;
  void on_early_end(std::size_t worker) override;
  void on_unneeded_failure(const ServiceFailure& failure) override;
  void on_asked_to_end(const EndRequest& request) override;
  void on_still_waiting(std::chrono::nanoseconds left) override;
  void on_overdue(std::size_t worker, const EndRequest& request) override;
  void on_orphans(const std::vector<Process>& left) override;
  void on_not_killed(const std::vector<Process>& left) override;

 private:
  /// "rank 3 (ps 1) (pid 4711)"; a worker without a label is named `unlabelled`, or by its rank alone.
  [[nodiscard]] std::string describe(std::size_t worker, const std::string& unlabelled = "") const;
  [[nodiscard]] std::string describe_failure(std::size_t worker) const;
  [[nodiscard]] std::string describe_reason(const EndRequest& request) const;
  [[nodiscard]] ProcessNames living() const;
  void log_refusals();

  const LaunchPlan& plan_;
  const Workers& workers_;
  const Supervisor& supervisor_;
  const RunOptions& options_;
  bool logged_memory_refusal_ = false;
  bool logged_terminal_refusal_ = false;
  bool logged_orphans_ = false;
  bool has_logged_order_ = false;
  std::set<std::size_t> logged_silent_;
};

}  // namespace muster
