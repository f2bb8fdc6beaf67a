#pragma once

// What no worker of any job gets. Private to plan/.

#include "plan/launch_plan.hpp"

#include <string>
#include <vector>

namespace muster {

/// The inherited variables that are muster's own options.
[[nodiscard]] std::vector<std::string> own_variables(const Snapshot& snapshot);

}  // namespace muster
