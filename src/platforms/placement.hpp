#pragma once

// Describes the position of a node in an attempt.

#include "base/endpoint.hpp"
#include "base/ranks.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Position of a task's host among the hosts, counted by the gang, where a platform places several tasks on a host.
struct HostPlace {
  int rank = 0;
  int hosts = 0;  ///< 0: not counted
  int tasks = 0;  ///< on this host

  bool operator==(const HostPlace&) const = default;
};

/// Slots of the nodes whose role has this node's role name, where nodes have different role names.
struct RoleSlots {
  int before = 0;  ///< on nodes of lower rank
  int total = 0;   ///< 0: all nodes have the same role, or not counted

  bool operator==(const RoleSlots&) const = default;
};

/// Ports that the leader has prepared for the workers of all nodes, sent with the start of the attempt.
struct AttemptPorts {
  std::uint16_t worker_port = 0;  ///< 0: not needed, or fixed by the plan

  bool operator==(const AttemptPorts&) const = default;
};

/// Position of this node in one attempt: assumed when a plan is printed, decided by the gang at start.
struct Placement {
  int attempt = 0;
  int restarts = 0;  ///< so far: counts attempts that failed, not those that ended so that nodes could join
  int max_restarts = 0;
  int nodes = 1;
  NodeRank node_rank;
  int slots_here = 1;
  int slots_before = 0;  ///< on nodes of lower rank
  int slots_total = 1;
  HostPlace host = {};
  RoleSlots role = {};
  std::string master_address;                ///< host of the workers' rendezvous
  std::optional<std::uint16_t> worker_port;  ///< empty: {worker_port} is filled at start
  std::vector<NodePorts> ports;              ///< by node rank; empty: unknown, or no process listens
  bool is_decided = false;                   ///< by the gang: no facts of other nodes are missing

  bool operator==(const Placement&) const = default;
};

}  // namespace muster
