#pragma once

#include "base/endpoint.hpp"
#include "base/ranks.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Which of the hosts a task is on, where a platform has placed several on a host; as the gang counts them.
struct HostPlace {
  int rank = 0;
  int hosts = 0;  ///< 0: nobody has counted them
  int tasks = 0;  ///< on this host

  bool operator==(const HostPlace&) const = default;
};

/// Where the workers of a node stand among those of nodes whose role has the same name, where not all have.
struct RoleSlots {
  int before = 0;  ///< on nodes of lower rank
  int total = 0;   ///< 0: all nodes have the same role, or nobody has counted them

  bool operator==(const RoleSlots&) const = default;
};

/// What the leader has ready for the workers of all nodes, told with the start of the attempt.
struct AttemptPorts {
  std::uint16_t worker_port = 0;  ///< 0: the job needs none, or the plan has its own
  std::uint16_t store_port = 0;   ///< where a store of the framework's listens; 0: there is none

  bool operator==(const AttemptPorts&) const = default;
};

/// Where this node stands in one attempt: assumed when a plan is printed, decided by the gang when
/// it starts.
struct Placement {
  int attempt = 0;
  int restarts = 0;  ///< so far: as many attempts as ended by a failure, none that ended so that nodes could join
  int max_restarts = 0;
  int nodes = 1;
  NodeRank node_rank;
  int slots_here = 1;
  int slots_before = 0;  ///< on nodes of lower rank
  int slots_total = 1;
  HostPlace host = {};
  RoleSlots role = {};
  std::string master_address;                    ///< where the workers meet
  std::optional<std::uint16_t> worker_port;      ///< empty: {worker_port} is filled at start
  std::optional<std::uint16_t> store_port = {};  ///< likewise {store_port}
  std::vector<NodePorts> ports;                  ///< by node rank; empty: not known yet, or nobody listens
  bool is_decided = false;                       ///< by the gang: nothing is left to learn from the other nodes

  bool operator==(const Placement&) const = default;
};

}  // namespace muster
