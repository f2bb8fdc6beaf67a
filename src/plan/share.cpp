// Shares a host among the agents that a platform has started on it, one a process.
#include "plan/share.hpp"

#include "base/text.hpp"
#include "environment/accelerators.hpp"

#include <algorithm>

namespace muster {
namespace {

/// A process that may use fewer cores than the one that started it was bound: what it has is its own.
/// Otherwise those are for all that were started with it. More than an even share is never taken:
/// several may be bound to the same socket.
int cores_of(const HostShare& share, const AllowedCores& allowed) {
  const int together = std::max(allowed.count, allowed.of_parent);
  const int part = share.cores.value_or(together / share.local_size.value);
  return std::clamp(part, 1, std::max(1, allowed.count));
}

}  // namespace

HostTasks find_host_tasks(const PlanInput& input) {
  const auto& [cluster, chosen, job, snapshot, ranked, generated] = input;
  HostTasks part;
  part.is_shared = cluster.share.has_value();
  part.share = cluster.share.value_or(HostShare{{0, {}}, {1, {}}});
  part.visible_devices = job.devices ? job.devices->count : count_visible_devices(snapshot);
  const int allowed = snapshot.cores.count;
  part.cores = part.is_shared ? cores_of(part.share, snapshot.cores) : allowed;
  part.cores_text = (part.cores == allowed ? "" : std::to_string(part.cores) + " of ") +
                    count_of(static_cast<std::size_t>(allowed), "allowed core");
  return part;
}

}  // namespace muster
