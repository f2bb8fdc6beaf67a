#pragma once

// How many processes of each role the job has, by --roles or by a platform's task lists. Private to
// cluster/.

#include "platforms/choose_platform.hpp"
#include "platforms/ports.hpp"
#include "platforms/tasks.hpp"

namespace muster {

/// What is known of the roles.
struct JobRoles {
  std::optional<TaskLists> tasks;                       ///< by the platform
  std::optional<Sourced<std::vector<RoleSize>>> sizes;  ///< by --roles
  bool are_counted = false;  ///< the mode wants to know; else task lists tell only of nodes
};

/// "chief=1,worker=2" for a mode with these roles.
[[nodiscard]] Result<std::vector<RoleSize>> read_role_sizes(const Sourced<std::string>& text,
                                                            const Roles& roles);

/// Reads both and refuses what does not agree. A user who wants one node alone gets no lists of
/// others.
[[nodiscard]] Result<JobRoles> read_job_roles(const Choice& choice,
                                              const Snapshot& snapshot,
                                              const ClusterRequest& request,
                                              const Roles& roles);

/// Each listed task is a node.
void apply_tasks(PlatformFacts& facts, const JobRoles& roles);

/// What the user says about nodes must be what the lists say, as scripts read those.
[[nodiscard]] Result<> check_against_tasks(const PlatformFacts& facts, const JobRoles& roles);

/// The agents meet where no task listens: a port that nobody gave becomes the next free one.
void avoid_listeners(PlatformFacts& facts, const JobRoles& roles);

/// Fails when a port that agents or workers meet at is a task's.
[[nodiscard]] Result<> check_ports(const Ports& ports, const JobRoles& roles);

/// The numbers, where they listen, and how that was decided.
void add_roles(Cluster& cluster, const JobRoles& roles);

}  // namespace muster
