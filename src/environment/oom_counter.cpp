// The kernel counts before it sends the signal, so who has seen the death reads the new count.
#include "environment/control_groups.hpp"

#include "environment/oom_counter.hpp"

#include <fstream>

namespace muster {

std::string find_oom_counter() {
  for (const ControlGroup& group : own_cgroups("memory")) {
    std::string file =
        group.folders.front() + (group.version == 2 ? "/memory.events" : "/memory.oom_control");
    if (read_oom_counter(file)) {
      return file;
    }
  }
  return {};
}

std::optional<std::uint64_t> read_oom_counter(const std::string& file) {
  std::ifstream lines(file);
  std::string name;
  std::uint64_t count = 0;
  while (lines >> name >> count) {
    if (name == "oom_kill") {
      return count;
    }
  }
  return std::nullopt;
}

}  // namespace muster
