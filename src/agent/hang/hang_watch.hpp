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

/// Asks the nodes for evidence when the stall detector wants it, and reports what the detector finds. Keeps what was seen for
/// the log folder, and runs the command of --on-hang.
class HangWatch {
 public:
  /// The references outlive it.
  HangWatch(ProcessLoop& loop, PendingWork& pending, const RunContext& run);

  std::function<QuietSeconds()> quiet_seconds;
  /// Asks all nodes where their ranks are, and calls `then` once.
  std::function<void(bool asks_recorders, std::function<void(hang::Evidence)> then)> gather;
  /// Called with each step of the detector. A step that has a `Look` comes from within the `then` of `gather`.
  std::function<void(const hang::StallDetector::Step& step)> report;

  /// Opens the files of this attempt for the record of hangs and for the output of --on-hang, if the job keeps log files.
  void begin_attempt(const LaunchPlan& plan);
  /// Watches the attempt from now on, if the user wants that and this is node 0. To be called on each node.
  void start(const LaunchPlan& plan);
  /// Ends the watch. To be called when no worker runs any more, or all are being stopped.
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
  CallbackScope gathering_;                      ///< drops late evidence about an earlier attempt
  std::optional<hang::StallDetector> detector_;  ///< empty: no attempt is watched
};

}  // namespace muster
