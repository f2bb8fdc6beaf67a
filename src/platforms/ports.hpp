#pragma once

// Which ports the job uses. Private to cluster/.

#include "platforms/platform.hpp"

#include "platforms/cluster.hpp"

#include <string_view>

namespace muster {

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
[[nodiscard]] Result<Ports> choose_ports(const PlatformFacts& facts,
                                         const ClusterRequest& request,
                                         const ModeFacts& mode);

void add_ports(Cluster& cluster, const Ports& ports);

}  // namespace muster
