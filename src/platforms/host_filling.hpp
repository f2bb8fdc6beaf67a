#pragma once

// Which of the hosts of a list have processes, where their number is given: mpirun's -np. Private to cluster/.

#include "platforms/given_hosts.hpp"

namespace muster {

/// The hosts that get processes, with their number as slots, by the settings kProcessesOfHosts and others: in
/// the order of the list, each filled before the next one. Fails for more processes than slots.
[[nodiscard]] Result<Sourced<std::vector<GivenHost>>> fill_hosts(
    Sourced<std::vector<GivenHost>> listed, const Settings& settings);

}  // namespace muster
