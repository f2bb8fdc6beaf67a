#pragma once

// What two agents were told differently about their job, in words.

#include "platforms/facts.hpp"

#include <string>

namespace muster::gang {

/// "its mode is 'ps', the leader's is 'torchrun'", for the first fact that differs; empty: none does.
/// Both are normalized().
[[nodiscard]] std::string describe_difference(const JobFacts& its, const JobFacts& leaders);

}  // namespace muster::gang
