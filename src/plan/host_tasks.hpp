#pragma once

// Which processes of which role run on which node. Pure, and private to plan/.

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

/// The processes of one role: those of one node, and all of the job.
struct RolePlace {
  std::vector<int> here;  ///< their positions within the role
  int total = 0;
};

/// One place for each role of the template, for this node.
[[nodiscard]] std::vector<RolePlace> place_roles(const ModeTemplate& mode, const Cluster& cluster,
                                                 const Placement& placement);

/// Where each process listens, "host:port" by role and by position within the role. The platform's
/// word, else what the nodes have reserved; empty while that is not known.
[[nodiscard]] std::vector<RoleEndpoints> find_endpoints(const ModeTemplate& mode, const Cluster& cluster,
                                                        const Placement& placement);

/// How many processes there are on each node, as far as that is known; else empty.
[[nodiscard]] std::vector<int> find_slots(const Cluster& cluster, const Placement& placement);

/// The nodes that have a process with a certain local rank: how many there are, and which of them this is.
struct CrossPlace {
  int rank = 0;
  int size = 1;
};

/// Of the process with this local rank on that node; `slots`: by node rank.
[[nodiscard]] CrossPlace find_cross_place(const std::vector<int>& slots, NodeRank node, int local_rank);

/// TF_CONFIG of one process. Evaluators are in no cluster but their own.
/// Source: tensorflow.org, "Distributed training with TensorFlow", TF_CONFIG.
[[nodiscard]] std::string task_config(const std::vector<RoleEndpoints>& endpoints, const std::string& role, int index);

/// The TF_CONFIG that the platform gave, by the same rule: without roles that have no process, and without the
/// evaluators, but for those. Otherwise as it is: it may say more than where the tasks are.
[[nodiscard]] std::string task_config_of_platform(std::string_view given, std::string_view role);

// Which accelerator, and so which NUMA nodes, a process of this node has.

/// The place of one process.
struct Locality {
  int device = 0;           ///< the accelerator's number on this host, else the local rank
  std::vector<int> nodes;   ///< its NUMA nodes, sorted; empty: nobody knows
  std::string name;         ///< for people: "GPU 3 (0000:dc:00.0)"
  std::string unknown;      ///< why `nodes` is empty
  bool is_assumed = false;  ///< the kernel does not say where it is: counted as NUMA node 0
};

/// The localities of this node: one for each accelerator that is visible, and when there are more
/// `workers` than that they begin again with the first one. Without accelerators the workers are
/// spread over the NUMA nodes in blocks of equal size.
[[nodiscard]] std::vector<Locality> find_localities(const Topology& topology, const Snapshot& snapshot, int workers);

/// A sentence when the runtime may number the GPUs of this host in another way than we do.
[[nodiscard]] std::string doubt_about_order(const Topology& topology, const Snapshot& snapshot);

// What a node has of its host: all of it, or the part of one process that the platform has placed.
//

/// This agent's part of its host. A host that it has to itself is one part of one.
struct HostTasks {
  HostShare share;
  bool is_shared = false;
  int visible_devices = 0;  ///< accelerators that a process here may use; 0: none is known
  int cores = 1;            ///< that the processes of this agent have together
  std::string cores_text;   ///< "8 of 64 allowed cores"

  /// Where the process that is the i-th of this agent stands among those of its host.
  [[nodiscard]] int local_rank(int i) const { return share.local_rank.value + i * share.local_size.value; }

  /// The accelerator of that process among those that it sees: a platform may show each process its
  /// own ones alone.
  [[nodiscard]] int device(int local_rank) const {
    return is_shared && visible_devices > 0 ? local_rank % visible_devices : local_rank;
  }
};

[[nodiscard]] HostTasks find_host_tasks(const PlanInput& input);

// The forms of --numa-binding.

/// The CPUs of one locality among all of the node, sorted; `source` is who is to blame.
[[nodiscard]] Result<std::vector<int>> cpus_of_locality(NumaForm form, const Topology& topology,
                                                        const std::vector<Locality>& localities, std::size_t locality,
                                                        const Source& source);

/// The CPUs of these NUMA nodes that this process may use, sorted.
[[nodiscard]] std::vector<int> allowed_cpus_of(const Topology& topology, const std::vector<int>& nodes);

/// The NUMA nodes that a form reaches from these, sorted: for `socket` all of their packages.
[[nodiscard]] std::vector<int> nodes_of_form(NumaForm form, const Topology& topology, const std::vector<int>& nodes);

[[nodiscard]] const char* name_of(NumaForm form);

}  // namespace muster
