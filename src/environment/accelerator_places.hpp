#pragma once

// Which accelerator has which number, and where it is plugged in. Private to environment/.

#include "environment/cpu_topology.hpp"

namespace muster {

/// Fills the lists of accelerators from the files below `root`.
void place_accelerators(Topology& topology, const std::string& root);

}  // namespace muster
