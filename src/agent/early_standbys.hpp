#pragma once

// Standbys before the first attempt: their imports run while this node waits for other nodes, or for its inputs (docs/standby.md).
// Private to src/agent.

#include "agent/process_loop.hpp"
#include "agent/standbys.hpp"
#include "agent/worker_starter.hpp"
#include "plan/launch_plan.hpp"
#include "process/timer.hpp"
#include "run/run_context.hpp"

namespace muster {

/// Has standbys made by the plan that this node expects. One that turns out not to fit is not used.
class EarlyStandbys {
 public:
  /// The references outlive it.
  EarlyStandbys(ProcessLoop& loop, const RunContext& run, Standbys& standbys);

  /// To be called when this node begins to wait.
  void start();
  /// The first attempt begins.
  void cancel();

 private:
  void find_programs();
  void make();

  ProcessLoop& loop_;
  const RunContext& run_;
  Standbys& standbys_;
  LaunchPlan plan_;
  Programs programs_;
  Timer timer_;
};

}  // namespace muster
