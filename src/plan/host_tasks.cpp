// Places processes on nodes, resolves visible accelerators to NUMA nodes, and divides a host among several agents.
// Pure.
#include "plan/host_tasks.hpp"

#include "base/endpoint.hpp"
#include "base/json.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "environment/devices.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace muster {
namespace {

std::vector<int> numbers(int first, int count) {
  std::vector<int> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), first);
  return result;
}

RolePlace place_role(const RoleTemplate& role, const Placement& placement) {
  const int rank = placement.node_rank.value;
  switch (role.count) {
    case RoleCount::None:
      return {};
    case RoleCount::PerNode:
      return {{rank}, placement.nodes};
    case RoleCount::PerOtherNode:
      return {numbers(rank - 1, rank == 0 ? 0 : 1), placement.nodes - 1};
    case RoleCount::PerJob:  // on the node with rank 0
      return {numbers(0, rank == 0 ? 1 : 0), 1};
    case RoleCount::PerDevice:
      break;
  }
  return {numbers(placement.slots_before, placement.slots_here), placement.slots_total};
}

int count_of_role(const std::vector<RoleSize>& roles, const std::string& name) {
  const RoleSize* const own = first_of(roles, [&](const RoleSize& size) { return size.role == name; });
  return own == nullptr ? 0 : own->count;
}

/// The processes of a role that this node gets when roles are dealt round robin; `dealt` processes of other roles
/// come first.
RolePlace deal_role(int count, int dealt, const Placement& placement) {
  RolePlace place{{}, count};
  const int first = (placement.node_rank.value - dealt % placement.nodes + placement.nodes) % placement.nodes;
  for (int i = first; i < count; i += placement.nodes) {
    place.here.push_back(i);
  }
  return place;
}

/// Adds the endpoints of one node to the lists.
void add_node(std::vector<RoleEndpoints>& lists, const std::vector<RolePlace>& places, const ModeTemplate& mode,
              const NodePorts& node) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!mode.roles[i].listens) {
      continue;
    }
    for (const int position : places[i].here) {
      auto& endpoints = lists[i].endpoints;
      endpoints.resize(std::max(endpoints.size(), static_cast<std::size_t>(position) + 1));
      endpoints[static_cast<std::size_t>(position)] =
          next < node.ports.size() ? join_endpoint(node.host, std::to_string(node.ports[next])) : "";
      ++next;
    }
  }
}

}  // namespace

std::vector<RolePlace> place_roles(const ModeTemplate& mode, const Cluster& cluster, const Placement& placement) {
  std::vector<RolePlace> places;
  int dealt = 0;
  for (const RoleTemplate& role : mode.roles) {
    if (!role.may_be_given || cluster.job.roles.empty()) {
      places.push_back(place_role(role, placement));
      continue;
    }
    const int count = count_of_role(cluster.job.roles, role.name);
    places.push_back(deal_role(count, dealt, placement));
    dealt += count;
  }
  return places;
}

std::vector<int> ranks_at(const ModeTemplate& mode, const Cluster& cluster, const Placement& placement) {
  std::vector<int> ranks;
  int first = 0;  // of the role
  for (const RolePlace& place : place_roles(mode, cluster, placement)) {
    std::ranges::transform(place.here, std::back_inserter(ranks), [&](int position) { return first + position; });
    first += place.total;
  }
  return ranks;
}

std::vector<RoleEndpoints> find_endpoints(const ModeTemplate& mode, const Cluster& cluster,
                                          const Placement& placement) {
  if (!cluster.job.endpoints.empty()) {
    return cluster.job.endpoints;
  }
  if (placement.ports.empty()) {
    return {};
  }
  auto lists = mapped(mode.roles, [](const RoleTemplate& role) { return RoleEndpoints{role.name, {}}; });
  Placement there = placement;
  there.slots_before = 0;
  for (std::size_t node = 0; node < placement.ports.size(); ++node) {
    const NodePorts& ports = placement.ports[node];
    there.node_rank = NodeRank{static_cast<int>(node)};
    there.slots_here = ports.slots;
    add_node(lists, place_roles(mode, cluster, there), mode, ports);
    there.slots_before += ports.slots;
  }
  return lists;
}

int most_listeners(const ModeTemplate& mode, const Cluster& cluster) {
  int given = 0;
  int others = 0;
  for (const RoleTemplate& role : mode.roles) {
    if (!role.listens || !cluster.job.endpoints.empty()) {
      continue;
    }
    if (role.may_be_given && !cluster.job.roles.empty()) {
      given += count_of_role(cluster.job.roles, role.name);
    } else if (role.count != RoleCount::None) {
      others += role.count == RoleCount::PerDevice ? cluster.node.slots : 1;
    }
  }
  const int dealt = std::accumulate(cluster.job.roles.begin(), cluster.job.roles.end(), 0,
                                    [](int sum, const RoleSize& size) { return sum + size.count; });
  return others + std::min(given, (dealt + cluster.job.least_nodes - 1) / cluster.job.least_nodes);
}

std::vector<int> find_slots(const Cluster& cluster, const Placement& placement) {
  std::vector<int> slots = mapped(placement.ports, &NodePorts::slots);
  const bool are_assumed = !placement.is_decided && !cluster.job.total_slots &&
                           cluster.slots.size() == static_cast<std::size_t>(placement.nodes);
  return slots.empty() && are_assumed ? cluster.slots : slots;
}

CrossPlace find_cross_place(const std::vector<int>& slots, NodeRank node, int local_rank) {
  const auto has_it = [&](int count) { return count > local_rank; };
  const auto own = slots.begin() + node.value;
  return {static_cast<int>(std::count_if(slots.begin(), own, has_it)),
          static_cast<int>(std::ranges::count_if(slots, has_it))};
}

std::string task_config(const std::vector<RoleEndpoints>& endpoints, const std::string& role, int index) {
  json::object cluster;
  for (const RoleEndpoints& list : endpoints) {
    const bool is_of_the_cluster = list.role != "evaluator";
    if (is_of_the_cluster && !list.endpoints.empty()) {
      cluster[list.role] = json::array(list.endpoints.begin(), list.endpoints.end());
    }
  }
  return json::serialize(
      json::object{{"cluster", std::move(cluster)}, {"task", json::object{{"type", role}, {"index", index}}}});
}

std::string task_config_of_platform(std::string_view given, std::string_view role) {
  std::string text(without_byte_order_mark(given));  // Python's parser refuses a byte order mark
  boost::system::error_code error;
  json::value config = json::parse(text, error);
  json::object* const members = error ? nullptr : config.if_object();
  json::value* const cluster = members == nullptr ? nullptr : members->if_contains("cluster");
  if (cluster == nullptr || !cluster->is_object()) {
    return text;
  }
  json::object kept;
  for (auto& member : cluster->get_object()) {
    const json::array* const list = member.value().if_array();
    const bool is_empty = list != nullptr && list->empty();
    const bool is_of_others = member.key() == "evaluator" && role != "evaluator";
    if (!is_empty && !is_of_others) {
      kept[member.key()] = member.value();
    }
  }
  if (kept.size() == cluster->get_object().size()) {
    return text;
  }
  *cluster = std::move(kept);
  return json::serialize(config);
}

// Resolves visibility lists to accelerators, and these to the NUMA nodes of each process.

namespace {

/// A resolved entry of a visibility list.
struct Visible {
  int number = 0;                       ///< on this host
  const Accelerator* device = nullptr;  ///< nullptr: unknown
  std::string name;                     ///< as in the list
};

std::vector<Visible> all_of(const std::vector<Accelerator>& devices) {
  std::vector<Visible> visible;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    visible.push_back({static_cast<int>(i), &devices[i], std::to_string(i)});
  }
  return visible;
}

/// Finds a device by "GPU-<uuid>", which may be shortened as far as it stays unique, or by "MIG-GPU-<uuid>/1/0". A
/// "MIG-<uuid>" names a part of a GPU that only the driver knows.
Visible find_by_uuid(const std::vector<Visible>& devices, std::string_view entry) {
  std::string_view uuid = entry.substr(0, entry.find('/'));
  if (uuid.starts_with("MIG-GPU-")) {
    uuid.remove_prefix(4);
  }
  for (const Visible& device : devices) {
    if (device.device != nullptr && device.device->uuid.starts_with(uuid)) {
      return device;
    }
  }
  return Visible{-1, nullptr, std::string(entry)};
}

/// The devices that a list keeps, in its order. As the runtimes do, stops at the first number without a device.
std::vector<Visible> filter(const std::vector<Visible>& devices, const std::string& list) {
  std::vector<Visible> visible;
  for (const DeviceEntry& entry : read_device_list(list)) {
    if (!entry.number) {
      visible.push_back(find_by_uuid(devices, entry.text));
    } else if (*entry.number < static_cast<int>(devices.size())) {
      visible.push_back(devices[static_cast<std::size_t>(*entry.number)]);
    } else {
      break;
    }
  }
  return visible;
}

/// Applies the variables in order: each filters the devices that the previous one left.
std::vector<Visible> filter_by(std::vector<Visible> devices, const Snapshot& snapshot,
                               const std::vector<const char*>& variables) {
  for (const char* const variable : variables) {
    if (const auto list = snapshot.variable(variable)) {
      devices = filter(devices, *list);
    }
  }
  return devices;
}

/// The accelerators of the kind that decides the number of workers: NVIDIA, Ascend, AMD.
struct Found {
  std::string kind;
  const std::vector<Accelerator>* all = nullptr;
  std::vector<Visible> visible;
};

Found find_visible(const Topology& topology, const Snapshot& snapshot) {
  // HIP falls back to CUDA's variable where its own is not set.
  const char* const hip = snapshot.has("HIP_VISIBLE_DEVICES") ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES";
  Found nvidia{"GPU", &topology.nvidia, filter_by(all_of(topology.nvidia), snapshot, {"CUDA_VISIBLE_DEVICES"})};
  Found ascend{"NPU", &topology.ascend, filter_by(all_of(topology.ascend), snapshot, {"ASCEND_RT_VISIBLE_DEVICES"})};
  Found amd{"GPU", &topology.amd, filter_by(all_of(topology.amd), snapshot, {"ROCR_VISIBLE_DEVICES", hip})};
  if (!nvidia.visible.empty()) {
    return nvidia;
  }
  return !ascend.visible.empty() ? ascend : amd;
}

/// The NUMA node of all devices, if they share one: then their order does not matter.
std::optional<int> common_node(const std::vector<Accelerator>& devices) {
  std::set<int> nodes;
  for (const Accelerator& device : devices) {
    if (!device.numa_node) {
      return std::nullopt;
    }
    nodes.insert(std::max(0, *device.numa_node));
  }
  return nodes.size() == 1 ? std::optional(*nodes.begin()) : std::nullopt;
}

std::set<int> numa_nodes(const Topology& topology) {
  std::set<int> nodes;
  for (const auto& [cpu, place] : topology.cpus) {
    nodes.insert(place.numa_node);
  }
  return nodes;
}

Locality locality_at(const Visible& visible, const Found& found, const std::set<int>& host_nodes) {
  Locality locality;
  locality.device = visible.number;
  locality.name = found.kind + " " + visible.name;
  if (visible.device != nullptr && !visible.device->address.empty()) {
    locality.name += " (" + visible.device->address + ")";
  }
  std::optional<int> node = common_node(*found.all);
  if (visible.device != nullptr && visible.device->numa_node) {
    locality.is_assumed = *visible.device->numa_node < 0 && host_nodes.size() > 1;
    node = std::max(0, *visible.device->numa_node);
  }
  if (!node && host_nodes.size() == 1) {
    node = *host_nodes.begin();
  }
  if (node) {
    locality.nodes = {*node};
  } else {
    locality.unknown = "nothing on this host tells the NUMA node of " + locality.name;
  }
  return locality;
}

/// Few workers get a block of nodes each; many workers share the nodes in blocks.
std::vector<Locality> spread(const Topology& topology, const Snapshot& snapshot, int workers) {
  std::set<int> allowed;
  for (const int cpu : topology.allowed_cpus) {
    allowed.insert(topology.cpus.at(cpu).numa_node);
  }
  const std::vector<int> nodes(allowed.begin(), allowed.end());
  const auto count = static_cast<long long>(nodes.size());
  const auto numbers = read_device_list(snapshot.variable("ASCEND_RT_VISIBLE_DEVICES").value_or(""));
  std::vector<Locality> localities;
  for (int i = 0; i < workers; ++i) {
    const auto first = static_cast<std::ptrdiff_t>(i * count / workers);
    const auto last = std::max(first + 1, static_cast<std::ptrdiff_t>((i + 1) * count / workers));
    Locality locality;
    const auto place = static_cast<std::size_t>(i);
    locality.device = place < numbers.size() ? numbers[place].number.value_or(i) : i;
    locality.nodes.assign(nodes.begin() + first, nodes.begin() + last);
    locality.name = "local rank " + std::to_string(i) + " (no accelerators)";
    localities.push_back(std::move(locality));
  }
  return localities;
}

}  // namespace

std::vector<Locality> find_localities(const Topology& topology, const Snapshot& snapshot, int workers) {
  const Found found = find_visible(topology, snapshot);
  if (found.visible.empty()) {
    return spread(topology, snapshot, workers);
  }
  const std::set<int> host_nodes = numa_nodes(topology);
  const std::size_t count = std::max(found.visible.size(), static_cast<std::size_t>(std::max(0, workers)));
  std::vector<Locality> localities;
  for (std::size_t i = 0; i < count; ++i) {
    localities.push_back(locality_at(found.visible[i % found.visible.size()], found, host_nodes));
  }
  return localities;
}

std::string order_notice(const Topology& topology, const Snapshot& snapshot) {
  std::set<std::string> models;
  for (const Accelerator& gpu : topology.nvidia) {
    models.insert(gpu.model);
  }
  if (models.size() < 2 || common_node(topology.nvidia) || snapshot.variable("CUDA_DEVICE_ORDER") == "PCI_BUS_ID") {
    return {};
  }
  return "the GPUs of this host differ, and CUDA numbers the fastest first: for a binding that fits, set "
         "CUDA_DEVICE_ORDER=PCI_BUS_ID";
}

// Divides a host among the agents that a platform has started on it, one per process.

namespace {

/// A process with fewer cores than its parent was bound by the platform: its cores are its own. Otherwise the cores
/// belong to all processes started together. The result never exceeds an even share, since several processes may be
/// bound to the same socket.
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
