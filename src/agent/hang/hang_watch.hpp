#pragma once

// Watches an attempt for hangs, on one node of the job (docs/hangs.md). Private to src/agent.

#include "agent/hang/hang_hook.hpp"
#include "agent/hang/hang_record.hpp"
#include "agent/hang/rank_evidence.hpp"
#include "agent/process_loop.hpp"
#include "agent/shutdown.hpp"
#include "hang/stall_detector.hpp"
#include "plan/launch_plan.hpp"
#include "process/timer.hpp"
#include "run/run_context.hpp"

#include <functional>
#include <optional>

namespace muster {

/// Asks when the detector wants to know more, and reports what it finds. Keeps what was seen for the log folder, and runs
/// the command of --on-hang.
class HangWatch {
 public:
  /// The references outlive it.
  HangWatch(ProcessLoop& loop, PendingWork& pending, const RunContext& run);

  std::function<QuietSeconds()> quiet_seconds;
  /// Asks all nodes where their ranks are, and calls `then` once.
  std::function<void(bool asks_recorders, std::function<void(hang::Evidence)> then)> gather;
  /// Called with each step; where it has a look, from within the `then` of the evidence.
  std::function<void(const hang::StallDetector::Step& step)> report;

  /// Gives the log files of this attempt to what writes there.
  void begin_attempt(const LaunchPlan& plan);
  /// Watches the attempt from now on, if the watch is wanted and this is the node that does. To be called on each node.
  void start(const LaunchPlan& plan);
  /// No worker runs any more, or all are being stopped.
  void stop();

  /// Keeps what was seen of a hang.
  HangRecord& record() { return record_; }
  /// The command of --on-hang.
  HangHook& hook() { return hook_; }

 private:
  void look_after(double seconds);
  void act(const hang::StallDetector::Step& step);

  const RunContext& run_;
  HangRecord record_;
  HangHook hook_;
  Timer timer_;
  CallbackScope gathering_;                      ///< the evidence of an attempt is not that of the next one
  std::optional<hang::StallDetector> detector_;  ///< empty: no attempt is watched
};

}  // namespace muster
