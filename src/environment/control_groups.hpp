#pragma once

// Where this process is in the hierarchies of control groups, in version 1 and version 2. Private to environment/.

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Our group in a hierarchy.
struct ControlGroup {
  int version = 0;
  std::vector<std::string>
      folders;  ///< of the group and of all above it, as far as they are mounted
};

/// Where a controller such as "cpu" may be: its own hierarchy of version 1, and that of version 2. Those that
/// are mounted.
[[nodiscard]] std::vector<ControlGroup> own_cgroups(std::string_view controller);

}  // namespace muster
