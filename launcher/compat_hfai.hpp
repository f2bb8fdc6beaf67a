#pragma once

// What scripts and muster itself need on HAI.

#include "requests.hpp"

#include "plan/launch_plan.hpp"

#include <optional>

namespace muster {

/// Has the workers find muster's modules for Python, where that is wanted. Fails with `BadUsage` where the user wants it and they are
/// not installed.
[[nodiscard]] Result<> add_hfai(PlanInput& input, const Options& options);

/// What the agent of this node does for HAI; empty: nothing.
[[nodiscard]] std::optional<HaiTask> find_hai_task(const LaunchPlan& plan,
                                                   const Snapshot& snapshot);

}  // namespace muster
