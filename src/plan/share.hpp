#pragma once

// What a node has of its host: all of it, or the part of one process that the platform has placed.
// Private to plan/.

#include "platforms/cluster.hpp"
#include "plan/launch_plan.hpp"

#include <string>

namespace muster {

/// This agent's part of its host. A host that it has to itself is one part of one.
struct HostTasks {
  HostShare share;
  bool is_shared = false;
  int visible_devices = 0;  ///< accelerators that a process here may use; 0: none is known
  int cores = 1;            ///< that the processes of this agent have together
  std::string cores_text;   ///< "8 of 64 allowed cores"

  /// Where the process that is the i-th of this agent stands among those of its host.
  [[nodiscard]] int local_rank(int i) const {
    return share.local_rank.value + i * share.local_size.value;
  }

  /// The accelerator of that process among those that it sees: a platform may show each process its
  /// own ones alone.
  [[nodiscard]] int device(int local_rank) const {
    return is_shared && visible_devices > 0 ? local_rank % visible_devices : local_rank;
  }
};

[[nodiscard]] HostTasks find_host_tasks(const PlanInput& input);

}  // namespace muster
