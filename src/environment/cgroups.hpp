#pragma once

// Finds this process's control groups, in version 1 and version 2, and reads what its memory group uses.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// This process's group in one hierarchy.
struct ControlGroup {
  int version = 0;
  std::vector<std::string> folders;  ///< directories of the group and its ancestors, as far as they are mounted
};

/// This process's groups in the mounted hierarchies that may have a controller such as "cpu": its own hierarchy of
/// version 1, and that of version 2.
std::vector<ControlGroup> own_cgroups(std::string_view controller);

/// This process's memory group, and the limit that applies to it.
struct MemoryGroup {
  /// File in which the kernel counts the OOM kills in the group and those below it: memory.events, or
  /// memory.oom_control in version 1. Empty: there is none.
  std::string oom_counter;
  std::string limited;      ///< folder of the group, this one or an ancestor, with the lowest limit; empty: no limit
  std::uint64_t limit = 0;  ///< in bytes
  int version = 0;
};

MemoryGroup find_memory_group();

/// Number of OOM kills so far; empty when `file` cannot be read.
std::optional<std::uint64_t> read_oom_counter(const std::string& file);

/// Most bytes of memory that the group has used, file caches included; empty: the kernel does not tell.
std::optional<std::uint64_t> read_memory_peak(const MemoryGroup& group);

/// Bytes that the limited group uses, without file caches, which the kernel frees before it kills. Empty: there is no
/// limit, or the kernel does not tell. Subtracts the caches only near the limit, because the kernel has to visit all
/// CPUs to count them.
std::optional<std::uint64_t> read_used_memory(const MemoryGroup& group);

}  // namespace muster
