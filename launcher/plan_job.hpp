#pragma once

// From the command line and the surroundings to the plan: what `plan`, `explain` and a run share.

#include "options.hpp"
#include "requests.hpp"

#include <muster/cluster/cluster.hpp>
#include <muster/mode/mode_template.hpp>
#include <muster/plan/launch_plan.hpp>

#include <optional>

namespace muster {

/// Who runs where with what, as far as it is known before the nodes have met.
struct Planned {
  LaunchPlan plan;
  std::optional<Cluster> cluster;  ///< empty: a worker of another launcher
  std::optional<ChosenMode> mode;
};

/// Decides who runs where. Completes the job by the CPUs to which its workers are bound, if they are.
[[nodiscard]] Result<Planned> plan_job(const CommandLine& line,
                                       Options& options,
                                       const Snapshot& snapshot);

}  // namespace muster
