#pragma once

// What looked relevant and made no decision. Private to cluster/.

#include "platforms/choose_platform.hpp"
#include "platforms/counters.hpp"

#include <vector>

namespace muster {

/// What looked relevant and is in none of these, with the reason.
[[nodiscard]] std::vector<UnusedValue> find_unused(const std::vector<Decision>& decisions,
                                                   const std::vector<UnusedValue>& lost,
                                                   const Choice& choice,
                                                   const Counters& counters);

}  // namespace muster
