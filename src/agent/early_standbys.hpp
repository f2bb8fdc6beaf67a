#pragma once

// Prepares the first attempt while this node waits for other nodes, or for its inputs: lets standbys import (docs/standby.md),
// and reads libraries ahead (docs/first-step.md). Private to src/agent.

#include "agent/process_loop.hpp"
#include "agent/read_ahead.hpp"
#include "agent/standbys.hpp"
#include "agent/worker_starter.hpp"
#include "plan/launch_plan.hpp"
#include "process/timer.hpp"
#include "run/run_context.hpp"

namespace muster {

/// Prepares by the plan that this node expects. If the plan of the attempt is another one, a standby that does not
/// fit it is not used.
class EarlyStandbys {
 public:
  /// The references outlive it.
  EarlyStandbys(ProcessLoop& loop, const RunContext& run, Standbys& standbys, ReadAhead& read_ahead);

  /// To be called when this node begins to wait.
  void start();
  /// Stops the preparation. To be called when the first attempt begins.
  void cancel();

 private:
  void find_programs();
  void begin();
  void make_standbys();

  ProcessLoop& loop_;
  const RunContext& run_;
  Standbys& standbys_;
  ReadAhead& read_ahead_;
  bool makes_standbys_ = false;
  LaunchPlan plan_;
  Programs programs_;
  Timer timer_;
};

}  // namespace muster
