#pragma once

#include "base/ranks.hpp"
#include "base/result.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// How many processes of a role the job has.
struct RoleSize {
  std::string role;
  int count = 0;

  bool operator==(const RoleSize&) const = default;
};

/// "chief=1,worker=2".
[[nodiscard]] std::string to_text(const std::vector<RoleSize>& sizes);

/// Where the processes of a role listen, as host:port in the order of their indices.
struct RoleEndpoints {
  std::string role;
  std::vector<std::string> endpoints;

  bool operator==(const RoleEndpoints&) const = default;
};

/// What the platform says of the one task that it started this process as, where it starts one process for
/// each worker: `srun` with a task a GPU, `mpirun -np 16`. Then a "node" of the job is such a task, with
/// one slot.
struct HostShare {
  Sourced<int> local_rank;            ///< among the tasks on this host
  Sourced<int> local_size;            ///< their number, 1 at least
  std::optional<int> host_rank = {};  ///< which of the hosts this is, where somebody says it
  std::optional<int> hosts = {};      ///< of the job, likewise
  std::optional<int> cores = {};      ///< that each task has, likewise
};

/// torchrun's default where no source names a job.
inline constexpr const char* kNoJobId = "none";

/// What all nodes of a job must agree on.
struct JobFacts {
  std::string job_id = kNoJobId;
  std::string mode;                ///< its name
  std::string template_digest;     ///< of the template's content
  bool are_tasks = false;          ///< each node is one process that the platform has placed
  int least_nodes = 1;             ///< with fewer the job does not start
  int most_nodes = 1;              ///< the most that take part
  std::optional<int> total_slots;  ///< complete with so many workers, on however many nodes
  /// By --roles or a platform's task lists; empty: as the template says. Processes are dealt to the
  /// nodes one by one, role after role: the k-th is on node k modulo the number of nodes.
  std::vector<RoleSize> roles;
  /// Of task lists: where they listen. Empty: ports are reserved at start.
  std::vector<RoleEndpoints> endpoints;
  /// Who decides success, sorted, each once; empty: as the template says.
  std::vector<std::string> success_roles;

  bool operator==(const JobFacts&) const = default;
};

/// What one node says about itself.
struct NodeFacts {
  std::optional<NodeRank> rank;             ///< empty: by arrival
  int slots = 1;                            ///< workers that it can run
  std::string host;                         ///< its name
  std::chrono::milliseconds grace{30'000};  ///< between asking workers to end and killing them
  /// The user's name for the role of its workers (--role). Ranks within a role are counted over the nodes that call theirs the
  /// same. Empty: the mode knows no such name.
  std::string role_name = {};

  bool operator==(const NodeFacts&) const = default;
};

}  // namespace muster
