// Asks the kernel, and leaves the rule to standby/.
#include "agent/free_memory.hpp"

#include "base/file_io.hpp"
#include "standby/standby_rules.hpp"

#include <algorithm>

namespace muster {

bool have_room(const MemoryGroup& group, std::uint64_t size) {
  const auto machine = standby::read_meminfo(read_regular_file("/proc/meminfo").value_or(""));
  if (!machine || !standby::has_room(*machine, size)) {
    return false;
  }
  const auto used = read_used_memory(group);
  return !used || standby::has_room({group.limit - std::min(*used, group.limit), group.limit}, size);
}

}  // namespace muster
