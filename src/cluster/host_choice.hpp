#pragma once

// Which of the listed hosts and their devices are used, as DeepSpeed's launcher is told. Private to cluster/.

#include <muster/cluster/given_hosts.hpp>

namespace muster {

/// What --include and --exclude leave: "a@b:0,2", hosts with the numbers of their devices, or all of them.
/// Fails for both together, and for a host or a device that is not listed.
[[nodiscard]] Result<Sourced<std::vector<GivenHost>>> choose_hosts(
    Sourced<std::vector<GivenHost>> listed, const Settings& settings);

}  // namespace muster
