#pragma once

// Chooses the folder of compilers' caches on this node, and the variables that name it.

#include "base/result.hpp"
#include "plan/launch_plan.hpp"
#include "run/cache_options.hpp"

#include <string>

namespace muster {

/// With --compile-cache: sets the variables of compilers' caches that the user has not set, and lists where each
/// value comes from. Returns the options with the node's folder; empty: none is wanted or fit, which a notice says.
/// `makes_folder`: true for a run. Takes up to two seconds where a file system hangs.
CacheOptions add_compile_caches(PlanInput& input, CacheOptions options, bool makes_folder);

}  // namespace muster
