#pragma once

// Messages about an attempt to its user. Private to src/agent.

#include "agent/hang/call_watch.hpp"
#include "agent/workers.hpp"
#include "base/ranks.hpp"
#include "plan/launch_plan.hpp"
#include "process/descendants.hpp"
#include "process/reaper.hpp"
#include "run/run_options.hpp"
#include "services/service.hpp"
#include "supervise/supervisor.hpp"

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// A stop signal to the workers that still run.
struct EndRequest {
  int signal = 0;
  bool is_ordered = false;  ///< by the gang
  std::string reason;       ///< empty: the report will name it
  std::chrono::milliseconds grace{};
};

/// Logs events, and remembers those that are logged once.
class AttemptLog {
 public:
  /// All references outlive this.
  AttemptLog(const LaunchPlan& plan, const Workers& workers, const Supervisor& supervisor, const RunOptions& options)
      : plan_(plan), workers_(workers), supervisor_(supervisor), options_(options) {}

  /// True if the workers got a stop signal by order of the gang, and its reason was logged.
  bool has_logged_order() const { return has_logged_order_; }

  /// Names the ranks whose workers are alive in one text, such as "ranks 0-3"; empty: no worker is alive.
  std::vector<std::string> describe_living() const;

  void on_started(std::size_t worker);
  void on_ended(const Death& death);
  /// The worker closed its standard output and error a while ago and still runs.
  void on_outputs_closed(std::size_t worker);
  void on_long_call(const CallWatch::Found& found);
  void on_long_call_over(const CallWatch::Found& found);
  /// A debugger has stopped the worker, or a SIGSTOP that muster did not send.
  void on_stopped(const Stopped& stopped);
  /// A worker that serves the others exited with 0 a while ago, and they still run.
  void on_early_end(std::size_t worker);
  /// A service failed when the workers no longer needed it.
  void on_unneeded_failure(const ServiceFailure& failure);
  /// None of the programs of these workers handles the signal of a notice, so they did not get it yet.
  void on_notice_not_sent(const std::vector<std::size_t>& workers, int signal);
  void on_asked_to_end(const EndRequest& request);
  /// A request to end came late and changes nothing: the workers are being ended already, with this time `left`.
  void on_late_request(const TellGrace& request, std::chrono::nanoseconds left);
  /// Called from time to time during the grace.
  void on_still_waiting(std::chrono::nanoseconds left);
  /// The worker still runs after its grace. `place` is where it stands: "at train.py:12 in save"; empty: not known.
  void on_overdue(std::size_t worker, const EndRequest& request, const std::string& place);
  /// Prints which processes of ended ranks still run after a moment. May be called again while mpirun runs.
  void on_orphans(const std::vector<Process>& left);
  void on_not_killed(const std::vector<Process>& left);

 private:
  /// "rank 3 (ps 1) (pid 4711)"; a worker without a label is named `unlabelled`, or by its rank alone.
  std::string describe(std::size_t worker, const std::string& unlabelled = "") const;
  std::string describe_failure(std::size_t worker) const;
  std::string describe_reason(const EndRequest& request) const;
  ProcessNames living() const;
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
