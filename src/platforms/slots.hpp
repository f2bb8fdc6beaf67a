#pragma once

// Decides the number of workers of this node and of the whole job.

#include "platforms/cluster.hpp"
#include "platforms/platform.hpp"

#include <string>

namespace muster {

/// "4", or "2:4" for a range, with its source; or the number of all workers if that replaces it.
Sourced<std::string> nodes_as_written(const PlatformFacts& facts);

/// Reads a platform's number of devices per node as the number of workers. 0: the platform has none or did not count,
/// and devices are counted here.
[[nodiscard]] Result<> read_devices(PlatformFacts& facts, const Snapshot& snapshot, const std::string& name);

/// Reads the number of devices per node from a text, in the same way.
[[nodiscard]] Result<> read_devices(PlatformFacts& facts, const std::optional<Sourced<std::string>>& text);

/// Checks the variable `name`, which counts the devices of all nodes, against the number per node.
[[nodiscard]] Result<> check_all_devices(const PlatformFacts& facts, const Snapshot& snapshot, const std::string& name);

/// Workers of this node: --nproc-per-node, the platform, or counted devices. Where only the platform's number of all
/// workers is known, it is divided evenly.
[[nodiscard]] Result<Sourced<int>> find_slots(const PlatformFacts& facts, const Snapshot& snapshot);

/// A notice where the user asks for more workers than this node has devices; else empty.
std::string describe_oversubscription(const Sourced<int>& slots, const Snapshot& snapshot);

/// Applies the number of all workers, as given or from the platform; it also decides the number of nodes where no
/// source does.
[[nodiscard]] Result<> apply_total(PlatformFacts& facts, const std::optional<Sourced<int>>& given,
                                   const Sourced<int>& slots);

/// Adds the slots of each node, and how they were found.
[[nodiscard]] Result<> add_slots(Cluster& cluster, const PlatformFacts& facts, const Sourced<int>& slots);

// Workers that the platform has placed: it starts one process for each, and each is a node of the job with a share of
// its host.

/// Variables in which a launcher counts the processes of a job, and those of this host.
struct TaskVariables {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};

/// Reads all four variables: each process is a node.
[[nodiscard]] Result<> read_tasks(PlatformFacts& facts, const Snapshot& snapshot, const TaskVariables& names);

/// Reads the meeting point of the processes: MASTER_ADDR and MASTER_PORT, else their host if there is only one. `id`
/// is unique to the job; empty: there is none. Where the leader is unknown, the error gives `advice`.
[[nodiscard]] Result<> read_meeting_point(PlatformFacts& facts, const Snapshot& snapshot,
                                          const Sourced<std::string>& id, const std::string& advice);

/// True when all processes of the job are on this host.
bool are_all_here(const PlatformFacts& facts);

/// Gives a process that shares its host one slot. If it is doubtful whether it does, it is a normal node with all
/// devices, unless the user gives it one slot. Fails if the user asks for another number.
[[nodiscard]] Result<> apply_share(PlatformFacts& facts, const ClusterRequest& request);

/// Checks the request against a platform that the form of the command line ignores: its tasks share the host anyway.
[[nodiscard]] Result<> check_against_placed_tasks(const Platform& passed_over, const Snapshot& snapshot,
                                                  const ClusterRequest& request);

/// Fails if every task that `around` has placed on this host would start the same job of one node with several
/// workers, unless each task has enough devices or cores of its own. The first task of a host only gets a remark,
/// which is returned: a script may start the job in that task only, and no variable tells. Empty: no remark.
[[nodiscard]] Result<std::string> check_not_in_each_task(const Platform& around, const Sourced<int>& nodes,
                                                         const Sourced<int>& slots, const Snapshot& snapshot);

void add_share(Cluster& cluster, const PlatformFacts& facts);

}  // namespace muster
