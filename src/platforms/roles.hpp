#pragma once

// How many processes of each role the job has, by --roles or by a platform's task lists. Private to
// cluster/.

#include "platforms/cluster.hpp"
#include "platforms/platform.hpp"

#include <string_view>

namespace muster {

// Which ports the job uses.

using Port = std::optional<Sourced<int>>;

struct Ports {
  Port rendezvous;                  ///< empty: one node needs none
  Port workers;                     ///< empty: a fresh one is chosen at start
  Port agents;                      ///< empty: one node meets nobody
  bool is_worker_port_told = true;  ///< it is not merely the rendezvous again
};

/// A port that all nodes of a job choose alike, by what they share and no other job has: one of the 4,096
/// highest, from which Linux takes none for outgoing links.
[[nodiscard]] int port_of_job(std::string_view id);

/// Decides them from what was found, what the user says and what the mode wants. Fails when workers
/// and agents would share one.
[[nodiscard]] Result<Ports> choose_ports(const PlatformFacts& facts, const ClusterRequest& request,
                                         const ModeFacts& mode);

void add_ports(Cluster& cluster, const Ports& ports);

/// What is known of the roles.
struct JobRoles {
  std::optional<TaskLists> tasks;                       ///< by the platform
  std::optional<Sourced<std::vector<RoleSize>>> sizes;  ///< by --roles
  bool are_counted = false;                             ///< the mode wants to know; else task lists tell only of nodes
};

/// "chief=1,worker=2" for a mode with these roles.
[[nodiscard]] Result<std::vector<RoleSize>> read_role_sizes(const Sourced<std::string>& text, const Roles& roles);

/// Reads both and refuses what does not agree. A user who wants one node alone gets no lists of
/// others.
[[nodiscard]] Result<JobRoles> read_job_roles(const Choice& choice, const Snapshot& snapshot,
                                              const ClusterRequest& request, const Roles& roles);

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
