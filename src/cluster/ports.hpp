#pragma once

// Which ports the job uses. Private to cluster/.

#include "platform.hpp"

#include <muster/cluster/cluster.hpp>

namespace muster {

/// Decides the rendezvous port, the workers' port and the agents' port, from what was found and from
/// --worker-port and --gang-port. Fails when one of the two is no port, or when both are the same.
[[nodiscard]] Result<> add_ports(Cluster& cluster,
                                 const Findings& findings,
                                 const Settings& settings);

}  // namespace muster
