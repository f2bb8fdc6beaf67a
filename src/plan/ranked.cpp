// What a rank table says about the nodes, beside what others say about them. Pure.
#include "ranked.hpp"

#include <muster/base/text.hpp>
#include <muster/environment/accelerators.hpp>
#include <muster/plan/launch_plan.hpp>

#include <algorithm>

namespace muster {
namespace {

using rank_table::Device;
using rank_table::Instance;
using rank_table::TableFile;

constexpr const char* kSlots = "nodes.slots";
constexpr const char* kSlotsOfOthers = "nodes.slots of the others";

Error differs(const TableFile& file,
              const std::string& what,
              int listed,
              const Sourced<int>& said) {
  return Error{ErrorKind::BadData,
               "the rank table '" + file.path + "' has " + std::to_string(listed) + " " + what +
                   ", but " + said.source.name + " says " + std::to_string(said.value)};
}

int count_nodes(const TableFile& file) {
  const auto& instances = file.table.instances;
  return static_cast<int>(std::count_if(
      instances.begin(), instances.end(), [](const auto& one) { return !one.devices.empty(); }));
}

/// Who says it, for people.
std::string source_of(const Cluster& cluster, const std::string& field) {
  const auto at = std::find_if(cluster.decisions.begin(),
                               cluster.decisions.end(),
                               [&](const Decision& decision) { return decision.field == field; });
  return field + (at == cluster.decisions.end() ? "" : " (" + at->source + ")");
}

/// Tasks that a platform has placed are no nodes of a table, and where workers are counted, nodes are not.
Result<> check_nodes(const Cluster& cluster, const TableFile& file) {
  const JobFacts& job = cluster.job;
  if (job.total_slots && *job.total_slots != file.table.size) {
    return differs(file,
                   "devices",
                   file.table.size,
                   {*job.total_slots, from_variable(source_of(cluster, "slots.total"))});
  }
  const int nodes = count_nodes(file);
  if (cluster.share || job.total_slots || (nodes >= job.least_nodes && nodes <= job.most_nodes)) {
    return {};
  }
  return differs(
      file, "nodes", nodes, {job.most_nodes, from_variable(source_of(cluster, "nodes.count"))});
}

/// What was only counted here gives way to the table: two pods may see the same devices.
bool is_said(const Source& source) {
  return is_given(source) || source.kind == SourceKind::Variable;
}

Result<> check_slots(const Cluster& cluster, const TableFile& file, const Instance& own) {
  const int devices = static_cast<int>(own.devices.size());
  const bool is_same = cluster.node.slots == devices;
  if (cluster.share || is_same || !is_said(cluster.slots_from)) {
    return {};
  }
  return differs(file, "devices of this node", devices, {cluster.node.slots, cluster.slots_from});
}

/// The names of the surroundings, and the index that the platform or the user gives.
rank_table::OwnNames names_of(const PlanInput& input) {
  const Cluster& cluster = input.cluster;
  rank_table::OwnNames names = rank_table::own_names(input.snapshot);
  names.nodes = cluster.job.total_slots ? 0 : cluster.job.most_nodes;
  const bool is_alone = cluster.job.most_nodes == 1;
  if (!cluster.share && (cluster.node.rank || is_alone)) {
    names.index =
        Sourced<int>{cluster.assumed_rank().value, from_variable(source_of(cluster, "nodes.rank"))};
  }
  return names;
}

/// What nobody has said, the table does.
void take_slots(Cluster& cluster, const TableFile& file, std::size_t own) {
  const auto& instances = file.table.instances;
  const int devices = static_cast<int>(instances[own].devices.size());
  const bool is_in_order = instances.size() == cluster.slots.size() &&
                           own == static_cast<std::size_t>(cluster.assumed_rank().value);
  cluster.node.slots = devices;
  for (std::size_t i = 0; i < cluster.slots.size(); ++i) {
    cluster.slots[i] = is_in_order ? static_cast<int>(instances[i].devices.size()) : devices;
  }
  std::erase_if(cluster.decisions,
                [](const Decision& decision) { return decision.field == kSlotsOfOthers; });
  for (Decision& decision : cluster.decisions) {
    if (decision.field == kSlots && !is_said(cluster.slots_from)) {
      decision = {kSlots, std::to_string(devices), "the rank table"};
    }
  }
}

/// Of a task that a platform has placed: its own alone.
std::vector<Device> ranked_devices(const PlanInput& input) {
  std::vector<Device> devices = input.ranked->devices;
  if (!input.cluster.share) {
    return devices;
  }
  const auto own = static_cast<std::size_t>(input.cluster.share->local_rank.value);
  return own < devices.size() ? std::vector<Device>{devices[own]} : std::vector<Device>();
}

}  // namespace

Result<std::size_t> find_own_instance(const PlanInput& input, const TableFile& file) {
  if (auto checked = check_nodes(input.cluster, file); !checked) {
    return checked.error();
  }
  const auto own = rank_table::find_instance(file, names_of(input));
  if (!own) {
    return own;
  }
  const Instance& instance = file.table.instances[*own];
  if (auto checked = check_slots(input.cluster, file, instance); !checked) {
    return checked.error();
  }
  return own;
}

Result<> apply_table(PlanInput& input, const TableFile& file) {
  const auto own = find_own_instance(input, file);
  if (!own) {
    return own.error();
  }
  rank_table::Changes changes;
  if (const auto& network = input.job.network) {
    auto order = rank_table::order_ring(file.table, network->value.switches, network->value.path);
    if (!order) {
      return order.error();
    }
    input.cluster.decisions.push_back({"ring.hops", describe(*order), network->source.name});
    changes.ranks = std::move(order->ranks);
  }
  input.ranked = rank_table::take_part(file, *own, changes);
  if (!input.cluster.share) {
    take_slots(input.cluster, file, *own);
  }
  return {};
}

void apply_ranks(std::vector<RolePlace>& places, const PlanInput& input) {
  if (!input.ranked) {
    return;
  }
  const auto& roles = input.mode.mode.roles;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (roles[i].count != RoleCount::PerDevice || roles[i].may_be_given) {
      continue;
    }
    places[i] = {{}, input.ranked->world_size};
    for (const Device& device : ranked_devices(input)) {
      places[i].here.push_back(device.rank);
    }
  }
}

std::vector<int> runtime_devices(const PlanInput& input) {
  std::vector<int> ids;
  if (input.ranked) {
    for (const Device& device : ranked_devices(input)) {
      ids.push_back(device.id);
    }
  }
  return ascend_runtime_numbers(input.snapshot, ids);
}

}  // namespace muster
