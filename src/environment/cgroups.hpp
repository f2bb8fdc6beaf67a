#pragma once

// Finds this process's control groups, in version 1 and version 2, and the OOM counter of its memory group.

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
[[nodiscard]] std::vector<ControlGroup> own_cgroups(std::string_view controller);

/// File in which the kernel counts the OOM kills in this process's memory group and the groups below it:
/// memory.events, or memory.oom_control in version 1. Empty: there is none.
[[nodiscard]] std::string find_oom_counter();

/// Number of OOM kills so far; empty when `file` cannot be read.
[[nodiscard]] std::optional<std::uint64_t> read_oom_counter(const std::string& file);

/// Most bytes of memory that the group of this OOM counter has used; empty: the kernel does not tell.
[[nodiscard]] std::optional<std::uint64_t> read_memory_peak(const std::string& oom_counter);

}  // namespace muster
