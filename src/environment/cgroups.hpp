#pragma once

// Where this process is in the hierarchies of control groups, in version 1 and version 2.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Our group in a hierarchy.
struct ControlGroup {
  int version = 0;
  std::vector<std::string> folders;  ///< of the group and of all above it, as far as they are mounted
};

/// Where a controller such as "cpu" may be: its own hierarchy of version 1, and that of version 2. Those that
/// are mounted.
[[nodiscard]] std::vector<ControlGroup> own_cgroups(std::string_view controller);

/// The file in which the kernel counts the processes of our memory group, and of those below it, that it has
/// killed for want of memory: memory.events, or memory.oom_control in version 1. Empty: there is none here.
[[nodiscard]] std::string find_oom_counter();

/// Empty when it cannot be read.
[[nodiscard]] std::optional<std::uint64_t> read_oom_counter(const std::string& file);

}  // namespace muster
