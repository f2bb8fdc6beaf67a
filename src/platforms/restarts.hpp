#pragma once

// How often all workers may be started again. Private to cluster/.

#include "platforms/platform.hpp"

namespace muster {

[[nodiscard]] Result<Sourced<int>> read_restarts(const Sourced<std::string>& text);

/// As given, else by PET_MAX_RESTARTS, else 0.
[[nodiscard]] Result<Sourced<int>> find_restarts(const Snapshot& snapshot,
                                                 const std::optional<Sourced<int>>& given);

}  // namespace muster
