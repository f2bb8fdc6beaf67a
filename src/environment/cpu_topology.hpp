#pragma once

#include "base/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Where a CPU sits. A core is its CPUs that share it (hyper-threads), a cache those that share the
/// last level; each is named by the lowest of its CPUs, whether this process may use that or not.
struct CpuPlace {
  int core = 0;
  int cache = 0;
  int package = 0;
  int numa_node = 0;
};

/// One accelerator. Its number, by which a visibility list names it, is its place in the list.
struct Accelerator {
  std::string address;           ///< on the PCI bus, such as 0000:dc:00.0; empty: not known
  std::string uuid;              ///< "GPU-..."; empty: not known
  std::string model;             ///< empty: not known
  std::optional<int> numa_node;  ///< -1: the kernel does not say; empty: the address is not known
};

/// The CPUs, the memory and the accelerators of this host, and which of them are near each other.
struct Topology {
  std::map<int, CpuPlace> cpus;  ///< all that are online
  /// Those that this process may use (affinity, cpuset), sorted. Never empty, and all in `cpus`.
  std::vector<int> allowed_cpus;
  std::vector<int> memory_nodes;  ///< NUMA nodes with memory that it may use, sorted
  std::vector<Accelerator> nvidia;
  std::vector<Accelerator> ascend;
  std::vector<Accelerator> amd;
};

/// Reads the topology from /proc, /sys and the names in /dev; no driver is opened. It costs hundreds
/// of small files, so it is read only when somebody asks for binding. `root` is put before each path:
/// tests have a tree of their own. Fails with `System` when the CPUs cannot be found out.
[[nodiscard]] Result<Topology> read_topology(const std::string& root = "");

}  // namespace muster
