#pragma once

#include "base/ranks.hpp"
#include "base/result.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// The number of processes of one role.
struct RoleSize {
  std::string role;
  int count = 0;

  bool operator==(const RoleSize&) const = default;
};

/// "chief=1,worker=2".
std::string to_text(const std::vector<RoleSize>& sizes);

/// The host:port addresses on which the processes of a role listen, in the order of their indices.
struct RoleEndpoints {
  std::string role;
  std::vector<std::string> endpoints;

  bool operator==(const RoleEndpoints&) const = default;
};

/// Share of one process in its host, where the platform starts one process for each worker: `srun` with a task per
/// GPU, `mpirun -np 16`. A "node" of the job is then such a process, with one slot.
struct HostShare {
  Sourced<int> local_rank;            ///< among the tasks on this host
  Sourced<int> local_size;            ///< number of tasks on this host, at least 1
  std::optional<int> host_rank = {};  ///< index of this host, if known
  std::optional<int> hosts = {};      ///< number of hosts of the job, if known
  std::optional<int> cores = {};      ///< cores of each task, if known
  std::optional<int> devices = {};    ///< accelerators of each task, if known
};

/// torchrun's default where no source names a job.
inline constexpr const char* kNoJobId = "none";

/// Facts that all nodes of a job must agree on.
struct JobFacts {
  std::string job_id = kNoJobId;
  std::string mode;                ///< name of the mode
  std::string template_digest;     ///< of the template's content
  bool are_tasks = false;          ///< each node is one process that the platform has placed
  int least_nodes = 1;             ///< the job starts with at least this many
  int most_nodes = 1;              ///< the most that take part
  std::optional<int> total_slots;  ///< the job is complete with this many workers, on any number of nodes
  /// From --roles or a platform's task lists; empty: from the template. Processes are dealt to the nodes one by one,
  /// role after role: the k-th is on node k modulo the number of nodes.
  std::vector<RoleSize> roles;
  /// Addresses in task lists. Empty: ports are reserved at start.
  std::vector<RoleEndpoints> endpoints;
  /// Roles that decide success, sorted and unique; empty: from the template.
  std::vector<std::string> success_roles;

  bool operator==(const JobFacts&) const = default;
};

/// Facts about one node.
struct NodeFacts {
  std::optional<NodeRank> rank;             ///< empty: given in the order of arrival
  int slots = 1;                            ///< workers that it can run
  std::string host;                         ///< its name
  std::chrono::milliseconds grace{30'000};  ///< from SIGTERM to SIGKILL
  /// The user's name for the role of this node's workers (--role). Ranks within a role are counted over the nodes
  /// with the same role name. Empty: the mode has no such name.
  std::string role_name = {};
  /// Accelerators that its workers are given, as a visibility list names them: "0", "GPU-5b6f". Empty: none, or unknown.
  std::vector<std::string> devices = {};
  std::string device_view = {};  ///< `Snapshot::device_view`; empty without `devices`
  /// Name of the machine, which outlives the job; empty: not known, as in a pod, whose host name is its own.
  std::string machine = {};

  bool operator==(const NodeFacts&) const = default;
};

}  // namespace muster
