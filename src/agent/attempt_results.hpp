#pragma once

// The results of an attempt: successes and failures for the gang, the workers' results for the report, and their state
// for those who ask. Private to src/agent.

#include "agent/worker_starter.hpp"
#include "agent/workers.hpp"
#include "control/status.hpp"
#include "gang/events.hpp"
#include "output/worker_streams.hpp"
#include "plan/launch_plan.hpp"
#include "process/reaper.hpp"
#include "process/timers.hpp"
#include "run/run_context.hpp"
#include "services/service.hpp"
#include "supervise/supervisor.hpp"

#include <boost/asio/io_context.hpp>

#include <sys/types.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// Collects the workers that exited with 0: picks from thousands the few successes that the gang has to know, and
/// finds servers that exited too early.
class Successes {
 public:
  /// Calls `check` a moment after a server ended: then `take_early_exits` has the result.
  Successes(boost::asio::io_context& io, const LaunchPlan& plan, const Workers& workers, std::function<void()> check);

  /// Returns what to tell the gang of a success, without `attempt`. The gang hears only of the first one of each role
  /// of this node, of rank 0 and of the last one, and of each one after `want_all`; empty: it hears nothing.
  std::optional<gang::Succeeded> message_for(const ReportSuccess& success);

  /// From now on the gang hears of each success: the leader limits how long other ranks run on, and names those.
  void want_all() { are_all_wanted_ = true; }

  /// A worker ended without a stop signal.
  void note(const Death& death);
  void cancel() { timer_.cancel(); }
  /// Returns each server once that exited with 0 while workers whose success counts run on. A parameter server or
  /// scheduler that exits before its workers is usually a mistake; a moment before is normal.
  std::vector<std::size_t> take_early_exits();

 private:
  const LaunchPlan& plan_;
  const Workers& workers_;
  DelayedCall timer_;
  std::set<std::string> announced_roles_;
  bool are_all_wanted_ = false;
  std::vector<std::size_t> ended_servers_;
};

/// Results of a plan that was never started.
std::vector<WorkerResult> results_without_start(const LaunchPlan& plan);

/// The parts of an attempt from which its results are made.
struct AttemptSources {
  const RunContext& run;
  const LaunchPlan& plan;
  const Supervisor& supervisor;
  const Workers& workers;
  const WorkerStreams& streams;
  const Services& services;
  const StartPreparation& preparation;
  const WorkerStarter& starter;
};

/// Combines the plan with what happened to it.
class AttemptResults {
 public:
  /// The sources outlive it.
  explicit AttemptResults(const AttemptSources& from) : from_(from) {}

  /// Notes that the first failure is a hang. `is_unkillable`: the worker is in an uninterruptible system call.
  void note_hang(const std::string& why, bool is_unkillable);

  /// Current state of the workers for the control socket, without values from /proc.
  std::vector<control::WorkerStatus> describe_workers() const;
  /// The pids of the workers that run, in the order of the workers.
  std::vector<pid_t> living_pids() const;
  /// The user of each worker when it ended, in the order of the workers; 0: root, or unknown.
  std::vector<uid_t> users() const;
  /// The results of the workers, for the report.
  std::vector<WorkerResult> of_workers() const;
  /// The likeliest first failure, if several are too close to know their order; as far as it is known at once.
  Failure first_failure() const;
  /// This node's failures, with the last lines and error files that have been read, in the order in which they ended.
  /// `made_progress` is not set.
  gang::AttemptOver over() const;

 private:
  std::string describe_state(std::size_t worker) const;
  Failure service_failure() const;
  Failure worker_failure(std::size_t worker) const;
  std::vector<std::string> hints_for(const Failure& failure, std::size_t worker) const;
  bool is_suspect(const WorkerEnded& failed) const;
  std::vector<Failure> suspects() const;
  std::vector<Failure> asked_with_an_error() const;

  const AttemptSources from_;
  std::string hang_;            ///< why the first failure is a hang; empty: it is none
  bool is_unkillable_ = false;  ///< it is in an uninterruptible system call
};

}  // namespace muster
