// Deals processes to nodes, and says where they can be met.
#include "plan/places.hpp"

#include "base/endpoint.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

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
    case RoleCount::PerOtherNode:
      return {numbers(rank - 1, rank == 0 ? 0 : 1), placement.nodes - 1};
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
    if (!role.may_be_given || cluster.job.roles.empty()) {
      places.push_back(place_role(role, placement, slots));
      continue;
    }
    const int count = count_of_role(cluster.job.roles, role.name);
    places.push_back(deal_role(count, dealt, placement));
    dealt += count;
  }
  return places;
}

/// Puts the endpoints of one node into the lists.
void add_node(std::vector<RoleEndpoints>& lists,
              const std::vector<RolePlace>& places,
              const ModeTemplate& mode,
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
          next < node.ports.size() ? join_endpoint(node.host, std::to_string(node.ports[next]))
                                   : "";
      ++next;
    }
  }
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
  if (!cluster.job.endpoints.empty()) {
    return cluster.job.endpoints;
  }
  if (placement.ports.empty()) {
    return {};
  }
  std::vector<RoleEndpoints> lists;
  for (const RoleTemplate& role : mode.roles) {
    lists.push_back({role.name, {}});
  }
  Placement there = placement;
  int slots_before = 0;
  for (std::size_t node = 0; node < placement.ports.size(); ++node) {
    const NodePorts& ports = placement.ports[node];
    there.node_rank = NodeRank{static_cast<int>(node)};
    const NodeSlots slots{ports.slots, slots_before, placement.slots_total};
    add_node(lists, place_roles(mode, cluster, there, slots), mode, ports);
    slots_before += ports.slots;
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
  const int dealt = std::accumulate(
      cluster.job.roles.begin(), cluster.job.roles.end(), 0, [](int sum, const RoleSize& size) {
        return sum + size.count;
      });
  return others + std::min(given, (dealt + cluster.job.least_nodes - 1) / cluster.job.least_nodes);
}

std::vector<int> find_slots(const Cluster& cluster, const Placement& placement) {
  std::vector<int> slots;
  for (const NodePorts& node : placement.ports) {
    slots.push_back(node.slots);
  }
  const bool are_assumed = !placement.is_decided && !cluster.job.total_slots &&
                           cluster.slots.size() == static_cast<std::size_t>(placement.nodes);
  return slots.empty() && are_assumed ? cluster.slots : slots;
}

CrossPlace find_cross_place(const std::vector<int>& slots, NodeRank node, int local_rank) {
  const auto has_it = [&](int count) { return count > local_rank; };
  const auto own = slots.begin() + node.value;
  return {static_cast<int>(std::count_if(slots.begin(), own, has_it)),
          static_cast<int>(std::count_if(slots.begin(), slots.end(), has_it))};
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

std::string task_config_of_platform(std::string_view given, std::string_view role) {
  std::string text(without_byte_order_mark(given));  // which Python's parser refuses
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

}  // namespace muster
