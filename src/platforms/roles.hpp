#pragma once

// Decides the job's ports, and the number of processes of each role by --roles or a platform's task lists.

#include "platforms/cluster.hpp"
#include "platforms/platform.hpp"

#include <string_view>

namespace muster {

// Ports of the job.

using Port = std::optional<Sourced<int>>;

struct Ports {
  Port rendezvous;                  ///< empty: one node needs none
  Port workers;                     ///< empty: a fresh one is chosen at start
  Port agents;                      ///< empty: one node
  bool is_worker_port_told = true;  ///< false: it is the same port as the rendezvous
};

/// A port that all nodes of a job compute alike from an id that no other job shares: one of the 4,096 highest, which
/// Linux does not use for outgoing connections.
int port_of_job(std::string_view id);

/// Decides the ports by the facts, the user's options and the mode. Fails when workers and agents would share one.
[[nodiscard]] Result<Ports> choose_ports(const PlatformFacts& facts, const ClusterRequest& request,
                                         const ModeFacts& mode);

void add_ports(Cluster& cluster, const Ports& ports);

/// Roles known from the platform and the user.
struct JobRoles {
  std::optional<TaskLists> tasks;                       ///< from the platform
  std::optional<Sourced<std::vector<RoleSize>>> sizes;  ///< from --roles
  bool are_counted = false;  ///< the mode uses the sizes; else task lists describe only the nodes
};

/// Reads both sources and fails where they disagree. A user who asks for a single node gets no lists of other nodes.
[[nodiscard]] Result<JobRoles> read_job_roles(const Choice& choice, const Snapshot& snapshot,
                                              const ClusterRequest& request, const Roles& roles);

/// Makes each listed task a node.
void apply_tasks(PlatformFacts& facts, const JobRoles& roles);

/// Fails where the user's values about nodes disagree with the lists, because scripts read those.
[[nodiscard]] Result<> check_against_tasks(const PlatformFacts& facts, const JobRoles& roles);

/// Keeps the agents' port clear of the tasks' ports: a port that was not given becomes the next free one.
void avoid_listeners(PlatformFacts& facts, const JobRoles& roles);

/// Fails when the port of agents or workers belongs to a task.
[[nodiscard]] Result<> check_ports(const Ports& ports, const JobRoles& roles);

/// Adds the sizes, the addresses, and how they were decided.
void add_roles(Cluster& cluster, const JobRoles& roles);

}  // namespace muster
