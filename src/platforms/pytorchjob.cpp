// Kubeflow's PyTorchJob from 1.7 on: each replica is a node. PET_* say all, and RANK is PET_NODE_RANK,
// but WORLD_SIZE is the number of replicas times nprocPerNode, where "auto" counts 1: processes or nodes.
// Up to 1.6 there were only the bare names, which counted nodes: the platform `bare`.
// Source: kubeflow/training-operator, pkg/controller.v1/pytorch/envvar.go.
#include "platforms/platform.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 2> kCounts = {"PET_NNODES", "WORLD_SIZE"};

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  const auto bare_names = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  const bool are_set = std::all_of(
      bare_names.begin(), bare_names.end(), [&](const char* name) { return snapshot.has(name); });
  return are_set ? first_set(snapshot, {"PET_NNODES"}) : std::nullopt;
}

/// The workers of an elastic job are counted without its master, which then is a node too many.
Result<> check_world_size(const PlatformFacts& facts, const Snapshot& snapshot) {
  const auto size = *sourced_variable(snapshot, "WORLD_SIZE");
  const auto all = parse_integer(size.value, 1, kMostWorkers);
  const auto per_node =
      parse_integer(snapshot.variable("PET_NPROC_PER_NODE").value_or(""), 1, kMostWorkers)
          .value_or(1);
  if (!all) {
    return wrong_value(size, "a number of processes of at least 1");
  }
  const int least = facts.least_nodes.value_or(facts.nodes->value);
  const int nodes = *all / per_node;
  if (*all % per_node == 0 && least <= nodes && nodes <= facts.nodes->value) {
    return {};
  }
  return contradiction(
      size,
      *sourced_variable(snapshot, "PET_NNODES"),
      "the first must be the other times " + std::to_string(per_node) + " (PET_NPROC_PER_NODE)");
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  auto facts = kPet.read(snapshot);
  if (!facts) {
    return facts;
  }
  if (auto checked = check_world_size(*facts, snapshot); !checked) {
    return checked.error();
  }
  if (auto read = read_agreeing(facts->node_rank,
                                snapshot,
                                {"PET_NODE_RANK", "RANK"},
                                read_node_rank,
                                "both are the rank of this node");
      !read) {
    return read.error();
  }
  if (auto read = read_agreeing(facts->master_address,
                                snapshot,
                                {"PET_MASTER_ADDR", "MASTER_ADDR"},
                                read_address,
                                "both are the leader's address");
      !read) {
    return read.error();
  }
  return facts;
}

}  // namespace

const Platform kPytorchjob = {"pytorchjob",
                              "PET_NNODES with the bare names",
                              find_sign,
                              read_platform,
                              kCounts,
                              /*may_lack_rank=*/true};

}  // namespace muster
