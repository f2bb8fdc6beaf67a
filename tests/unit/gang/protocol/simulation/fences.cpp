// Fences of simulated nodes while an attempt runs, and checks of each node's result.
#include "gang/all_parts.hpp"
#include "gang/protocol/simulation/world.hpp"

namespace muster::gang::simulation {
namespace {

constexpr std::int64_t kMostFences = 3;
constexpr std::int64_t kMostRounds = 4;

}  // namespace

/// Some are of all nodes of the attempt, some of a few of them: which and how many rounds all know, as
/// the ranks of one program do.
void World::plan_fences(int attempt, int nodes) {
  if (!scenario_.has_fences) {
    return;
  }
  for (auto count = pick(1, kMostFences); count > 0; --count) {
    std::vector<NodeRank> listed;
    for (int rank = 0; rank < nodes && count > 1; ++rank) {
      if (chance(0.6)) {
        listed.push_back(NodeRank{rank});
      }
    }
    fences_[{generation_, attempt}][std::move(listed)] = static_cast<int>(pick(1, kMostRounds));
  }
}

/// The contribution of a node to a round of a fence; all contributions of a simulation differ.
std::string World::part_of(const Group& group, NodeRank node, const ValueId& id) const {
  std::string part = "job " + std::to_string(group.generation) + " attempt " + std::to_string(id.attempt) + " round " +
                     std::to_string(*id.round) + " of";
  for (const NodeRank listed : id.nodes) {
    part += " " + to_string(listed);
  }
  part += " by " + to_string(node) + ":";
  std::mt19937 noise(static_cast<unsigned>(part.size() + static_cast<std::size_t>(node.value)));
  for (std::size_t i = part.size(); i < scenario_.fence_bytes; ++i) {
    part += static_cast<char>(noise());
  }
  return part;
}

/// The workers of a node begin: each fence that lists it goes its own way.
void World::start_fences(std::size_t id) {
  Group& group = groups_[id];
  const Placement& here = group.start.placement;
  for (const auto& [listed, rounds] : fences_[{group.generation, here.attempt}]) {
    if (listed.empty() || std::ranges::count(listed, here.node_rank) > 0) {
      group.rounds_left[listed] = rounds;
      contribute_soon(id, {kFenceKey, here.attempt, 0, listed});
    }
  }
}

void World::contribute_soon(std::size_t id, const ValueId& round) {
  at(now_ + up_to(scenario_.run_time / 4), [=, this] {
    Group& group = groups_[id];
    const auto host = static_cast<std::size_t>(group.host);
    if (group.is_alive && !group.is_ending && hosts_[host].life == group.life) {
      group.awaited.push_back(round);
      std::string part = part_of(group, group.start.placement.node_rank, round);
      tell_agent(host, group.life, Contributed{kFenceKey, std::move(part), round.nodes});
    }
  });
}

/// Each node gets what it has contributed to, once, in its attempt, with the parts of all.
void World::act(std::size_t index, const Value& value) {
  const ValueId& id = value.id;
  const auto group_id = hosts_[index].group;
  if (!group_id || groups_[*group_id].start.placement.attempt != id.attempt) {
    violate(name(index) + " gets a value of attempt " + std::to_string(id.attempt));
    return;
  }
  Group& group = groups_[*group_id];
  if (std::erase(group.awaited, id) != 1) {
    violate(name(index) + " gets round " + std::to_string(*id.round) + ", which it does not await");
    return;
  }
  ++finding_.fences;
  check_parts(group, value);
  if (--group.rounds_left[id.nodes] > 0) {
    contribute_soon(*group_id, {id.key, id.attempt, *id.round + 1, id.nodes});
  } else {
    group.rounds_left.erase(id.nodes);
    if (group.rounds_left.empty() && group.has_worked) {
      succeed(*group_id, /*is_last=*/true);
    }
  }
}

void World::check_parts(const Group& group, const Value& value) {
  std::vector<NodeRank> nodes = value.id.nodes;
  const int all = value.id.nodes.empty() ? group.start.placement.nodes : 0;
  for (int rank = 0; rank < all; ++rank) {
    nodes.push_back(NodeRank{rank});
  }
  const auto parts = read_parts(value.bytes);
  bool is_right = parts && parts->size() == nodes.size();
  for (std::size_t i = 0; is_right && i < nodes.size(); ++i) {
    is_right = (*parts)[i] == part_of(group, nodes[i], value.id);
  }
  if (!is_right) {
    violate(name(static_cast<std::size_t>(group.host)) + " gets a wrong value for round " +
            std::to_string(*value.id.round) + " of attempt " + std::to_string(value.id.attempt));
  }
}

}  // namespace muster::gang::simulation
