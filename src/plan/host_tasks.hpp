#pragma once

// Places processes, accelerators and cores on nodes. Pure, and private to plan/.

#include "base/result.hpp"
#include "environment/cpu_topology.hpp"
#include "environment/snapshot.hpp"
#include "modes/mode_template.hpp"
#include "plan/binding.hpp"
#include "plan/launch_plan.hpp"
#include "platforms/cluster.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster {

/// The processes of one role: those of this node, and their number in the job.
struct RolePlace {
  std::vector<int> here;  ///< positions within the role
  int total = 0;
};

/// One RolePlace per role of the template, for this node.
std::vector<RolePlace> place_roles(const ModeTemplate& mode, const Cluster& cluster, const Placement& placement);

/// Sorted global ranks of the node's processes, where no rank table gives them.
std::vector<int> ranks_at(const ModeTemplate& mode, const Cluster& cluster, const Placement& placement);

/// The endpoint "host:port" of each listening process, by role and by position within the role: the platform's, else
/// the ports that the nodes have reserved. Empty while they are unknown.
std::vector<RoleEndpoints> find_endpoints(const ModeTemplate& mode, const Cluster& cluster, const Placement& placement);

/// Number of processes on each node, by node rank; empty while it is unknown.
std::vector<int> find_slots(const Cluster& cluster, const Placement& placement);

/// Position of a process among the nodes that have a process with its local rank, and the number of these nodes.
struct CrossPlace {
  int rank = 0;
  int size = 1;
};

/// Position of the process with this local rank on this node; `slots` is by node rank.
CrossPlace find_cross_place(const std::vector<int>& slots, NodeRank node, int local_rank);

/// TF_CONFIG of one process. An evaluator is not in the others' cluster, and is alone in its own.
/// Source: tensorflow.org, "Distributed training with TensorFlow", TF_CONFIG.
std::string task_config(const std::vector<RoleEndpoints>& endpoints, const std::string& role, int index);

/// The platform's TF_CONFIG without roles that have no process, and, except for evaluators, without the evaluators.
/// The rest stays, because it may hold more than the places of tasks.
std::string task_config_of_platform(std::string_view given, std::string_view role);

// Finds the accelerator of a process, and its NUMA nodes.

/// Accelerator and NUMA nodes of one process.
struct Locality {
  int device = 0;           ///< the accelerator's number on this host, else the local rank
  std::vector<int> nodes;   ///< its NUMA nodes, sorted; empty: unknown
  std::string name;         ///< for people: "GPU 3 (0000:dc:00.0)"
  std::string unknown;      ///< the reason why `nodes` is empty
  bool is_assumed = false;  ///< the kernel reports no NUMA node: counted as node 0
};

/// The localities of this node: one per visible accelerator, repeated from the first when there are more `workers`.
/// Without accelerators the workers are spread over the NUMA nodes in blocks of equal size.
std::vector<Locality> find_localities(const Topology& topology, const Snapshot& snapshot, int workers);

/// A notice for the user when the runtime may number the GPUs of this host in another order than muster does.
std::string order_notice(const Topology& topology, const Snapshot& snapshot);

// Divides a host among agents.

/// This agent's share of its host. An agent alone on its host has one share of one.
struct HostTasks {
  HostShare share;
  bool is_shared = false;
  int visible_devices = 0;  ///< accelerators that a process here may use; 0: unknown
  int cores = 1;            ///< shared by all processes of this agent
  std::string cores_text;   ///< "8 of 64 allowed cores"

  /// The local rank, on the host, of this agent's i-th process.
  int local_rank(int i) const { return share.local_rank.value + i * share.local_size.value; }

  /// The index of a process's accelerator among those visible to it: a platform may show each process only its own.
  int device(int local_rank) const {
    return is_shared && visible_devices > 0 ? local_rank % visible_devices : local_rank;
  }
};

HostTasks find_host_tasks(const PlanInput& input);

}  // namespace muster
