#pragma once

// The folders of an attempt in which its ranks write about their end: dumps of flight recorders, their pipes, error
// files (docs/hangs.md#evidence). Nothing of muster's own lies there. Private to src/agent.

#include "base/file_io.hpp"
#include "plan/launch_plan.hpp"

#include <sys/stat.h>

#include <cstddef>
#include <string>

namespace muster {

/// Makes a folder below `place` for each rank of this attempt, and plans the rank's error file there instead of in the run
/// folder. A rank whose folder cannot be made gets none; if `place` is empty, no rank gets one. Takes up to a second where
/// its file system hangs.
///
/// A worker of root may drop to another user, and nobody knows that before. So everybody may write into the folders of
/// root's ranks, which have names that nobody can guess below a place that nobody else can list.
void give_rank_folders(LaunchPlan& plan, const std::string& run_folder, const std::string& place);

/// Opens a regular file in the folder of a rank. Refuses a file with a second name: it may be a link to a file of
/// root, where the kernel lets users make one (protected_hardlinks, proc(5)). Empty: refused, or cannot be opened.
UniqueFd open_rank_file(const std::string& path, struct stat& status);

/// The content of a file in the folder of a rank, at most `limit` bytes; empty when it cannot be read.
std::string read_rank_file(const std::string& path, std::size_t limit);

/// True for the name of a core file, as the kernel chooses it unless it is told otherwise.
bool is_core_file(const std::string& name);

/// True if a rank has written a file below `place` whose name `is_wanted`.
bool has_rank_file(const std::string& place, bool (*is_wanted)(const std::string& name));

}  // namespace muster
