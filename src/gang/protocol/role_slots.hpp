#pragma once

// How many workers the nodes have whose roles have the same name, as torchrun counts them. Pure.

#include "platforms/facts.hpp"
#include "plan/placement.hpp"

#include <vector>

namespace muster::gang {

/// `nodes` in the order of their ranks. Empty where all have the same role, as nearly all jobs do.
/// Source: _assign_worker_ranks of torch/distributed/elastic/agent/server/api.py of torch 2.13.
[[nodiscard]] std::vector<RoleSlots> find_role_slots(const std::vector<NodeFacts>& nodes);

}  // namespace muster::gang
