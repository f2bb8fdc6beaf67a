#pragma once

// How many workers this node and the whole job have.

#include "platforms/cluster.hpp"
#include "platforms/platform.hpp"

#include <string>

namespace muster {

/// "4", or "2:4" for a range, with its source; the number of all workers if that stands for it.
[[nodiscard]] Sourced<std::string> nodes_as_written(const PlatformFacts& facts);

/// As many workers as a platform counts devices on each node. 0 says that there are none, or that nobody
/// counted: then they are counted here.
[[nodiscard]] Result<> read_devices(PlatformFacts& facts, const Snapshot& snapshot, const std::string& name);

/// The same from a text.
[[nodiscard]] Result<> read_devices(PlatformFacts& facts, const std::optional<Sourced<std::string>>& text);

/// A job of `read_torch_nodes`, with NPROC_PER_NODE devices on each node and its name in `job_id`.
[[nodiscard]] Result<PlatformFacts> read_torch_job(const Snapshot& snapshot, const std::string& job_id);

/// The variable `name` counts the devices of all nodes, which the platform counts for each node, too.
[[nodiscard]] Result<> check_all_devices(const PlatformFacts& facts, const Snapshot& snapshot, const std::string& name);

/// Workers of this node: --nproc-per-node, the platform, or counted devices. Where only the
/// platform's number of all workers is known, it is dealt to the nodes evenly.
[[nodiscard]] Result<Sourced<int>> find_slots(const PlatformFacts& facts, const Snapshot& snapshot);

/// A remark where the user asks for more workers than this node has devices. Empty: there is nothing to say.
[[nodiscard]] std::string describe_crowd(const Sourced<int>& slots, const Snapshot& snapshot);

/// The number of all workers, as it is given, else as the platform says; and the number of nodes where
/// nobody gives that.
[[nodiscard]] Result<> apply_total(PlatformFacts& facts, const std::optional<Sourced<int>>& given,
                                   const Sourced<int>& slots);

/// Slots of each node, and how they were found.
[[nodiscard]] Result<> add_slots(Cluster& cluster, const PlatformFacts& facts, const Sourced<int>& slots);

// A worker that the platform has placed already: it starts one process for each, and each is a node of the
// job with a share of its host.

/// The variables in which a launcher counts the processes of a job, and those of this host.
struct TaskVariables {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};

/// Reads them, all four: each process is a node.
[[nodiscard]] Result<> read_tasks(PlatformFacts& facts, const Snapshot& snapshot, const TaskVariables& names);

/// Where the processes meet: as MASTER_ADDR and MASTER_PORT say, else on their host, if it is one. `id` is
/// what all of the job share and no other has; empty: nothing is. Where nothing says where the leader is,
/// `advice` says how to.
[[nodiscard]] Result<> read_meeting_point(PlatformFacts& facts, const Snapshot& snapshot,
                                          const Sourced<std::string>& id, const std::string& advice);

/// True when all processes of the job are on this host.
[[nodiscard]] bool are_all_here(const PlatformFacts& facts);

/// One of several on a host has one slot. Where it is doubtful that there are several, it is a node like any
/// other, with all its devices, unless the user gives it one slot. Fails where the user says something else.
[[nodiscard]] Result<> apply_share(PlatformFacts& facts, const ClusterRequest& request);

/// Checks the request against the tasks of a platform that the line's form passes over: they are placed all the same.
[[nodiscard]] Result<> check_share_of(const Platform& passed_over, const Snapshot& snapshot,
                                      const ClusterRequest& request);

void add_share(Cluster& cluster, const PlatformFacts& facts);

}  // namespace muster
