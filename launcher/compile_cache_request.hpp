#pragma once

// Chooses the folder of compilers' caches on this node, and the variables that name it.

#include "base/result.hpp"
#include "plan/launch_plan.hpp"
#include "run/cache_options.hpp"

#include <string>

namespace muster {

/// Adds the variables of compilers' caches that the user has not set, and the decisions about all of them, if the option is given.
/// Returns the options with the node's folder; empty: none is wanted, or there is no place for it, which a notice says. `makes_folder`:
/// this is a run. Takes up to two seconds where a file system hangs.
CacheOptions add_compile_caches(PlanInput& input, CacheOptions options, bool makes_folder);

}  // namespace muster
