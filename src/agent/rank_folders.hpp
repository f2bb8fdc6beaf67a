#pragma once

// The folders of an attempt in which its ranks write about their end: dumps of flight recorders, their pipes, error
// files (docs/hangs.md#evidence). Nothing of muster's own lies there. Private to src/agent.

#include "plan/launch_plan.hpp"

#include <string>

namespace muster {

/// Makes a folder below `place` for each rank of this attempt, and moves its error file there from the run folder. A
/// rank whose folder cannot be made gets none. `place`: empty: nobody gets one. Takes up to a second where its file
/// system hangs.
void give_rank_folders(LaunchPlan& plan, const std::string& run_folder, const std::string& place);

/// True for the name of a core file, as the kernel chooses it unless it is told otherwise.
[[nodiscard]] bool is_core_file(const std::string& name);

/// Finds a file that a rank has written, and that `is_wanted` by its name, below `place`.
[[nodiscard]] bool has_rank_file(const std::string& place, bool (*is_wanted)(const std::string& name));

}  // namespace muster
