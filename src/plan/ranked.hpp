#pragma once

// Ranks and devices by a rank table. Private to plan/.

#include "plan/places.hpp"

#include <vector>

namespace muster {

/// Puts the ranks of the table, if there is one, in the place of those that follow the placement.
void apply_ranks(std::vector<RolePlace>& places, const PlanInput& input);

/// True of a job that reads a rank table: it is here, or will be at the start.
[[nodiscard]] bool reads_table(const PlanInput& input);

/// True where only a rank table says how many workers there are, and it is not here yet.
[[nodiscard]] bool awaits_table(const PlanInput& input, bool takes_table);

/// How the runtime calls the device of each process of this node; empty: no table says which they have.
[[nodiscard]] std::vector<int> runtime_devices(const PlanInput& input);

}  // namespace muster
