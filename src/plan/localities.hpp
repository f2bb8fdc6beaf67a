#pragma once

// Which accelerator, and so which NUMA nodes, a process of this node has. Private to plan/.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "environment/cpu_topology.hpp"

#include <string>
#include <vector>

namespace muster {

/// The place of one process.
struct Locality {
  int device = 0;           ///< the accelerator's number on this host, else the local rank
  std::vector<int> nodes;   ///< its NUMA nodes, sorted; empty: nobody knows
  std::string name;         ///< for people: "GPU 3 (0000:dc:00.0)"
  std::string unknown;      ///< why `nodes` is empty
  bool is_assumed = false;  ///< the kernel does not say where it is: counted as NUMA node 0
};

/// The localities of this node: one for each accelerator that is visible, and when there are more
/// `workers` than that they begin again with the first one. Without accelerators the workers are
/// spread over the NUMA nodes in blocks of equal size.
[[nodiscard]] std::vector<Locality> find_localities(const Topology& topology,
                                                    const Snapshot& snapshot,
                                                    int workers);

/// A sentence when the runtime may number the GPUs of this host in another way than we do.
[[nodiscard]] std::string doubt_about_order(const Topology& topology, const Snapshot& snapshot);

}  // namespace muster
