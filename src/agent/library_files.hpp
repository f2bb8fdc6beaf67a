#pragma once

// Files of a program's libraries on network file systems: which of them its processes use, and reading them into the page cache. All
// of it blocks, so it runs in a helper process (docs/first-step.md). Private to src/agent.

#include "environment/cgroups.hpp"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

/// Limit of the bytes of a list.
inline constexpr std::size_t kMostListBytes = std::size_t{4} << 20U;

/// Lists the files that a process and its descendants use below the interpreter's folder and in folders of packages:
/// those that they have mapped or opened, and these packages' compiled modules in the page cache. Skips processes of
/// other users. A line for each file, as in `standby::note_of`; at most 20,000.
std::string list_library_files(pid_t process);

/// Counts what has been read, in memory that the agent shares with its helper process.
struct ReadAheadCounts {
  std::uint64_t files;  ///< of which a part has been read
  std::uint64_t bytes;
};

/// Reads the files of a list that have not changed and that the page cache lacks, large ones first, by several threads of the lowest
/// priority, until a tenth of the memory is left. Reads nothing that belongs to another user than root or this one.
void read_library_files(std::string_view list, const MemoryGroup& group, ReadAheadCounts& counts);

}  // namespace muster
