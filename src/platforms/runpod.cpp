// RunPod's Instant Clusters: NODE_RANK and NUM_NODES count nodes, but WORLD_SIZE counts the GPUs of all
// nodes. RANK is not set. MASTER_* repeat PRIMARY_*, and HOST_NODE_ADDR both of them.
// Source: docs.runpod.io, Instant Clusters, "Configuration reference".
#include "platforms/hosts.hpp"
#include "platforms/slots.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 2> kCounts = {"NUM_NODES", "WORLD_SIZE"};

Result<> read_leader(PlatformFacts& facts, const Snapshot& snapshot) {
  constexpr const char* kWhy = "both say where the primary node is";
  auto& address = facts.master_address;
  auto& port = facts.master_port;
  if (auto read =
          read_agreeing(address, snapshot, {"PRIMARY_ADDR", "MASTER_ADDR"}, read_address, kWhy);
      !read) {
    return read;
  }
  if (auto read = read_agreeing(port, snapshot, {"PRIMARY_PORT", "MASTER_PORT"}, read_port, kWhy);
      !read) {
    return read;
  }
  const auto both = sourced_variable(snapshot, "HOST_NODE_ADDR");
  if (both && address && port &&
      both->value != join_endpoint(address->value, std::to_string(port->value))) {
    return contradiction(*both,
                         {join_endpoint(address->value, std::to_string(port->value)),
                          {address->source.kind, address->source.name + ":" + port->source.name}},
                         kWhy);
  }
  return {};
}

/// A node with another rank than 0 has another address than the primary node.
Result<> check_own_address(const PlatformFacts& facts, const Snapshot& snapshot) {
  std::optional<Sourced<std::string>> own;
  if (auto read = read_into(own, snapshot, "NODE_ADDR", read_address); !read) {
    return read;
  }
  const auto& rank = facts.node_rank;
  const auto& leader = facts.master_address;
  if (own && leader && rank && (own->value == leader->value) != (rank->value == 0)) {
    return contradiction(*own,
                         *leader,
                         rank->source.name + " is '" + std::to_string(rank->value) +
                             "', and 0 is the rank of the primary node");
  }
  return {};
}

Result<> read_slots(PlatformFacts& facts, const Snapshot& snapshot) {
  if (auto read = read_devices(facts, snapshot, "NUM_TRAINERS"); !read) {
    return read;
  }
  return check_all_devices(facts, snapshot, "WORLD_SIZE");
}

/// The names are nobody's own: a variable of RunPod's must be there, or all that only a cluster of its has.
std::optional<std::string> find_sign(const Snapshot& snapshot) {
  const auto first = snapshot.variables.lower_bound("RUNPOD_");
  const bool is_runpod =
      (first != snapshot.variables.end() && first->first.starts_with("RUNPOD_")) ||
      (snapshot.has("PRIMARY_ADDR") && snapshot.has("HOST_NODE_ADDR"));
  const bool is_cluster = snapshot.has("NUM_NODES") && snapshot.has("NUM_TRAINERS");
  return is_runpod && is_cluster ? std::optional<std::string>("NUM_NODES") : std::nullopt;
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  if (auto read = read_into(facts.nodes, snapshot, "NUM_NODES", read_node_count); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.node_rank, snapshot, "NODE_RANK", read_node_rank); !read) {
    return read.error();
  }
  if (auto read = read_leader(facts, snapshot); !read) {
    return read.error();
  }
  if (auto checked = check_own_address(facts, snapshot); !checked) {
    return checked.error();
  }
  if (auto read = read_slots(facts, snapshot); !read) {
    return read.error();
  }
  return facts;
}

}  // namespace

const Platform kRunpod = {
    "runpod", "NUM_NODES beside RUNPOD_* or PRIMARY_ADDR", find_sign, read_platform, kCounts};

}  // namespace muster
