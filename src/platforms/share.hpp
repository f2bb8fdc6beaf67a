#pragma once

// A worker that the platform has placed already: it starts one process for each, and each is a node of the
// job with a share of its host. Private to cluster/.

#include "platforms/platform.hpp"

#include "platforms/cluster.hpp"

#include <string>

namespace muster {

/// The variables in which a launcher counts the processes of a job, and those of this host.
struct TaskVariables {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};

/// Reads them, all four: each process is a node.
[[nodiscard]] Result<> read_tasks(PlatformFacts& facts,
                                  const Snapshot& snapshot,
                                  const TaskVariables& names);

/// Where the processes meet: as MASTER_ADDR and MASTER_PORT say, else on their host, if it is one. `id` is
/// what all of the job share and no other has; empty: nothing is. Where nothing says where the leader is,
/// `advice` says how to.
[[nodiscard]] Result<> read_meeting_point(PlatformFacts& facts,
                                          const Snapshot& snapshot,
                                          const Sourced<std::string>& id,
                                          const std::string& advice);

/// True when all processes of the job are on this host.
[[nodiscard]] bool are_all_here(const PlatformFacts& facts);

/// One of several on a host has one slot. Where it is doubtful that there are several, it is a node like any
/// other, with all its devices, unless the user gives it one slot. Fails where the user says something else.
[[nodiscard]] Result<> apply_share(PlatformFacts& facts, const ClusterRequest& request);

/// Checks the request against the tasks of a platform that the line's form passes over: they are placed all the same.
[[nodiscard]] Result<> check_share_of(const Platform& passed_over,
                                      const Snapshot& snapshot,
                                      const ClusterRequest& request);

void add_share(Cluster& cluster, const PlatformFacts& facts);

}  // namespace muster
