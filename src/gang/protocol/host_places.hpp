#pragma once

// Which of the hosts each task of a job is on, where a platform has placed several on a host. Pure.

#include "plan/placement.hpp"

#include <string>
#include <vector>

namespace muster::gang {

/// `names`: the host of each node, in the order of their ranks. A host's number is that of its first
/// node among the first ones.
[[nodiscard]] std::vector<HostPlace> find_host_places(const std::vector<std::string>& names);

}  // namespace muster::gang
