// Takes the ranks and devices of this node from its part of a rank table. Pure.
#include "base/lists.hpp"
#include "environment/accelerators.hpp"
#include "inputs/input_files.hpp"
#include "plan/make_plan.hpp"

#include <algorithm>

namespace muster {

void apply_ranks(std::vector<RolePlace>& places, const PlanInput& input) {
  if (!input.ranked) {
    return;
  }
  const auto& roles = input.mode.mode.roles;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (roles[i].count != RoleCount::PerDevice || roles[i].may_be_given) {
      continue;
    }
    places[i] = {mapped(input.ranked->devices, &rank_table::Device::rank), input.ranked->world_size};
  }
}

bool reads_table(const PlanInput& input) {
  const auto inputs = find_inputs(input.mode, input.cluster, input.snapshot);
  return std::ranges::any_of(inputs, [](const Input& one) { return one.is_rank_table; });
}

BoundProcesses processes_to_bind(const PlanInput& input) {
  const Cluster& cluster = input.cluster;
  const int workers = cluster.share ? cluster.share->local_size.value : cluster.node.slots;
  if (!input.ranked && !reads_table(input)) {
    return one_each(workers);
  }
  return {runtime_devices(input), std::max(workers, count_visible_devices(input.snapshot))};
}

bool awaits_table(const PlanInput& input, bool takes_table) {
  return takes_table && !input.ranked && !is_stated(input.cluster.slots_from);
}

std::vector<int> runtime_devices(const PlanInput& input) {
  const auto& ranked = input.ranked;
  return ascend_runtime_numbers(input.snapshot,
                                ranked ? mapped(ranked->devices, &rank_table::Device::id) : std::vector<int>());
}

}  // namespace muster
