// Deals processes to nodes, and says where they can be met.
#include "places.hpp"

#include <algorithm>
#include <numeric>

namespace muster {
namespace {

std::vector<int> numbers(int first, int count) {
  std::vector<int> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), first);
  return result;
}

/// Who has how many slots: this node as it is placed.
struct NodeSlots {
  int here = 0;
  int before = 0;
  int total = 0;
};

RolePlace place_role(const RoleTemplate& role, const Placement& placement, const NodeSlots& slots) {
  const int rank = placement.node_rank.value;
  switch (role.count) {
    case RoleCount::None:
      return {};
    case RoleCount::PerNode:
      return {{rank}, placement.nodes};
    case RoleCount::PerJob:  // on the node with rank 0
      return {numbers(0, rank == 0 ? 1 : 0), 1};
    case RoleCount::PerDevice:
      break;
  }
  return {numbers(slots.before, slots.here), slots.total};
}

int count_of_role(const std::vector<RoleSize>& roles, const std::string& name) {
  const auto at = std::find_if(
      roles.begin(), roles.end(), [&](const RoleSize& size) { return size.role == name; });
  return at == roles.end() ? 0 : at->count;
}

/// The processes of a role that this node gets when all are dealt in turn; `dealt` are gone already.
RolePlace deal_role(int count, int dealt, const Placement& placement) {
  RolePlace place{{}, count};
  const int first =
      (placement.node_rank.value - dealt % placement.nodes + placement.nodes) % placement.nodes;
  for (int i = first; i < count; i += placement.nodes) {
    place.here.push_back(i);
  }
  return place;
}

std::vector<RolePlace> place_roles(const ModeTemplate& mode,
                                   const Cluster& cluster,
                                   const Placement& placement,
                                   const NodeSlots& slots) {
  std::vector<RolePlace> places;
  int dealt = 0;
  for (const RoleTemplate& role : mode.roles) {
    if (!role.may_be_given || cluster.roles.empty()) {
      places.push_back(place_role(role, placement, slots));
      continue;
    }
    const int count = count_of_role(cluster.roles, role.name);
    places.push_back(deal_role(count, dealt, placement));
    dealt += count;
  }
  return places;
}

/// The node with this rank, with so many slots as its ports leave for processes per device.
std::vector<RolePlace> places_on(int node,
                                 int slots_before,
                                 const ModeTemplate& mode,
                                 const Cluster& cluster,
                                 const Placement& placement) {
  Placement there = placement;
  there.node_rank = NodeRank{node};
  const std::size_t ports = placement.ports[static_cast<std::size_t>(node)].ports.size();
  const auto fixed = place_roles(mode, cluster, there, NodeSlots{0, slots_before, 0});
  std::size_t taken = 0;
  std::size_t per_device = 0;
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    taken += mode.roles[i].listens ? fixed[i].here.size() : 0;
    const bool by_slots = mode.roles[i].count == RoleCount::PerDevice &&
                          (!mode.roles[i].may_be_given || cluster.roles.empty());
    per_device += mode.roles[i].listens && by_slots ? 1 : 0;
  }
  const std::size_t slots = per_device == 0 || ports < taken ? 0 : (ports - taken) / per_device;
  return place_roles(mode, cluster, there, NodeSlots{static_cast<int>(slots), slots_before, 0});
}

/// Puts the endpoints of one node into the lists; how many slots it has.
int add_node(std::vector<RoleEndpoints>& lists,
             int node,
             int slots_before,
             const ModeTemplate& mode,
             const Cluster& cluster,
             const Placement& placement) {
  const NodePorts& ports = placement.ports[static_cast<std::size_t>(node)];
  const auto places = places_on(node, slots_before, mode, cluster, placement);
  std::size_t next = 0;
  int slots = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!mode.roles[i].listens) {
      continue;
    }
    slots = mode.roles[i].count == RoleCount::PerDevice ? static_cast<int>(places[i].here.size())
                                                        : slots;
    for (const int position : places[i].here) {
      auto& endpoints = lists[i].endpoints;
      endpoints.resize(std::max(endpoints.size(), static_cast<std::size_t>(position) + 1));
      endpoints[static_cast<std::size_t>(position)] =
          next < ports.ports.size() ? endpoint_of(ports.host, std::to_string(ports.ports[next]))
                                    : "";
      ++next;
    }
  }
  return slots;
}

}  // namespace

std::vector<RolePlace> place_roles(const ModeTemplate& mode,
                                   const Cluster& cluster,
                                   const Placement& placement) {
  return place_roles(
      mode,
      cluster,
      placement,
      NodeSlots{placement.slots_here, placement.slots_before, placement.slots_total});
}

std::vector<RoleEndpoints> find_endpoints(const ModeTemplate& mode,
                                          const Cluster& cluster,
                                          const Placement& placement) {
  if (!cluster.endpoints.empty()) {
    return cluster.endpoints;
  }
  if (placement.ports.empty()) {
    return {};
  }
  std::vector<RoleEndpoints> lists;
  for (const RoleTemplate& role : mode.roles) {
    lists.push_back({role.name, {}});
  }
  int slots_before = 0;
  for (int node = 0; node < static_cast<int>(placement.ports.size()); ++node) {
    slots_before += add_node(lists, node, slots_before, mode, cluster, placement);
  }
  return lists;
}

std::string endpoint_of(const std::string& host, const std::string& port) {
  const bool is_version_6 = host.find(':') != std::string::npos;
  return (is_version_6 ? "[" + host + "]" : host) + ":" + port;
}

std::string task_config(const std::vector<RoleEndpoints>& endpoints,
                        const std::string& role,
                        int index) {
  json::object cluster;
  for (const RoleEndpoints& list : endpoints) {
    const bool is_of_the_cluster = list.role != "evaluator";
    if (is_of_the_cluster && !list.endpoints.empty()) {
      cluster[list.role] = json::array(list.endpoints.begin(), list.endpoints.end());
    }
  }
  return json::serialize(json::object{{"cluster", std::move(cluster)},
                                      {"task", json::object{{"type", role}, {"index", index}}}});
}

}  // namespace muster
