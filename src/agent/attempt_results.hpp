#pragma once

// What became of an attempt, for the gang and for the report.

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

// A parameter server or a scheduler that ends before those whom it serves.

/// That is a mistake more often than not, unless they end a moment later.
class EarlyServerExit {
 public:
  /// `look` is called when the moment is over: time to `take`.
  EarlyServerExit(boost::asio::io_context& io, const LaunchPlan& plan, const Workers& workers,
                  std::function<void()> look);

  /// A worker has ended, and nobody was asked to.
  void note(const Death& death);
  void cancel() { timer_.cancel(); }

  /// Those that have ended with 0 and do not decide success, while others that do run on. Each once.
  [[nodiscard]] std::vector<std::size_t> take();

 private:
  const LaunchPlan& plan_;
  const Workers& workers_;
  DelayedCall timer_;
  std::vector<std::size_t> ended_;
};

// Which successes the gang is told.

/// The gang is told about those that matter to it, not about thousands: the first one of each role
/// of this node, rank 0, and the last one.
class SuccessReports {
 public:
  SuccessReports(const LaunchPlan& plan, const Workers& workers) : plan_(plan), workers_(workers) {}

  /// What the gang is told, without its `attempt`; empty: nothing.
  [[nodiscard]] std::optional<gang::Succeeded> message_for(const ReportSuccess& success);

 private:
  const LaunchPlan& plan_;
  const Workers& workers_;
  std::set<std::string> announced_roles_;
};

/// Who knows something about it.
struct AttemptView {
  const LaunchPlan& plan;
  const Workers& workers;
  const Supervisor& supervisor;
  const WorkerStreams& streams;
  const std::optional<StartFailure>& start_failure;
  const std::optional<ServiceFailure>& service_failure;
  const std::map<std::size_t, std::string>& faults;  ///< what services know of failed workers
  const ErrorFiles& error_files;
  const OomKills& oom_kills;  ///< before the first worker; no file: they cannot be read
};

/// Who failed on this node.
struct NodeFailures {
  std::optional<Failure> first;  ///< empty: nobody did before they were asked to end
  OtherFailures others;          ///< as they ended
};

/// How the workers are now, without what /proc knows of them.
[[nodiscard]] std::vector<control::WorkerStatus> status_of(const AttemptView& attempt);

[[nodiscard]] std::vector<WorkerResult> results_of(const AttemptView& attempt);

/// Of a plan that was never carried out.
[[nodiscard]] std::vector<WorkerResult> results_without_start(const LaunchPlan& plan);

/// With last lines and words of error files, as far as they have been read.
[[nodiscard]] NodeFailures failures_of(const AttemptView& attempt, const std::string& host_name);

// What an attempt tells its user while it runs.

/// Says it, and remembers what is to be said once.
class AttemptLog : public AttemptListener {
 public:
  /// All of them outlive it.
  AttemptLog(const LaunchPlan& plan, const Workers& workers, const Supervisor& supervisor, const RunOptions& options)
      : plan_(plan), workers_(workers), supervisor_(supervisor), options_(options) {}

  /// Workers were asked to end by an order from outside this node, whose reason was said.
  [[nodiscard]] bool has_said_order() const { return has_said_order_; }

  /// One text, "ranks 0-3"; empty: nobody is alive.
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
  void on_left_behind(const std::vector<Process>& left) override;
  void on_not_killed(const std::vector<Process>& left) override;

 private:
  /// "rank 3 (ps 1) (pid 4711)"; without a label it is called `unlabelled`, or by its rank alone.
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
  bool has_said_order_ = false;
  std::set<std::size_t> logged_silent_;
};

}  // namespace muster
