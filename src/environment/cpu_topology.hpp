#pragma once

#include "base/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Position of one CPU. A core (the CPUs that are its hyper-threads) and a last-level cache (the CPUs that share it)
/// are each named by their lowest CPU, whether or not this process may use that one.
struct CpuPlace {
  int core = 0;
  int cache = 0;
  int package = 0;
  int numa_node = 0;
};

/// One accelerator. Its position in the list is the number that visibility lists use.
struct Accelerator {
  std::string address;           ///< on the PCI bus, such as 0000:dc:00.0; empty: not known
  std::string uuid;              ///< "GPU-..."; empty: not known
  std::string model;             ///< empty: not known
  std::optional<int> numa_node;  ///< -1: the kernel does not say; empty: the address is not known
};

/// The CPUs, the memory and the accelerators of this host, and which of them are near each other.
struct Topology {
  std::map<int, CpuPlace> cpus;  ///< all that are online
  /// CPUs that this process may use (affinity, cpuset), sorted. Never empty, and all in `cpus`.
  std::vector<int> allowed_cpus;
  std::vector<int> memory_nodes;  ///< NUMA nodes with memory that this process may use, sorted
  std::vector<Accelerator> nvidia;
  std::vector<Accelerator> ascend;
  std::vector<Accelerator> amd;
};

/// Reads the topology from /proc, /sys and the names in /dev; opens no driver. Reads hundreds of small files, so it
/// is called only where binding is requested. `root` is put before each path, for tests. Fails with `System` when the
/// CPUs cannot be found out.
[[nodiscard]] Result<Topology> read_topology(const std::string& root = "");

}  // namespace muster
