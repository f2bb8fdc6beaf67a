// Reads the topology of this host's CPUs, and counts the CPUs that this process may use.
#include "environment/cpu_topology.hpp"

#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "environment/cgroups.hpp"
#include "environment/mounted_files.hpp"
#include "environment/snapshot.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace muster {
namespace {

/// The numbers of a list such as "0-3,8" in a kernel file; empty when it is unreadable.
std::vector<int> read_list(const std::string& path) {
  return parse_ranges(first_line(path)).value_or(std::vector<int>());
}

std::vector<int> common_of(const std::vector<int>& left, const std::vector<int>& right) {
  std::vector<int> both;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
  return both;
}

std::vector<int> all_of(const std::vector<int>& left, const std::vector<int>& right) {
  std::vector<int> all;
  std::set_union(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(all));
  return all;
}

/// The CPUs that are online. LXCFS shows a container as many in cpu/online as it may use, numbered from 0, and the
/// true ones in the lists of the nodes.
std::vector<int> read_online(const std::string& system) {
  std::vector<int> online = read_list(system + "/cpu/online");
  for (const int node : numbered_entries(system + "/node", "node")) {
    online = all_of(online, read_list(system + "/node/node" + std::to_string(node) + "/cpulist"));
  }
  return online;
}

/// Names each group of CPUs by its lowest one. Reads a list once for all its members: with hundreds of CPUs that is
/// most of the time. A CPU without a list is a separate group.
void name_groups(std::map<int, CpuPlace>& cpus, int CpuPlace::*group, const auto& members_of) {
  std::map<int, int> names;
  for (auto& [cpu, place] : cpus) {
    const std::vector<int> members = names.contains(cpu) ? std::vector<int>() : members_of(cpu);
    for (const int member : members) {
      names.emplace(member, members.front());
    }
    names.emplace(cpu, cpu);
    place.*group = names.at(cpu);
  }
}

/// The CPUs that share one CPU's last-level cache; instruction caches are ignored.
std::vector<int> sharers_of_last_cache(const std::string& folder) {
  int last_level = 0;
  std::vector<int> sharers;
  for (const int index : numbered_entries(folder, "index")) {
    const std::string cache = folder + "/index" + std::to_string(index);
    const int level = parse_integer(first_line(cache + "/level"), 1, 9).value_or(0);
    if (level > last_level && first_line(cache + "/type") != "Instruction") {
      last_level = level;
      sharers = read_list(cache + "/shared_cpu_list");
    }
  }
  return sharers;
}

void put_on_node(std::map<int, CpuPlace>& cpus, const std::vector<int>& members, int node) {
  for (const int cpu : members) {
    if (const auto at = cpus.find(cpu); at != cpus.end()) {
      at->second.numa_node = node;
    }
  }
}

void read_packages(std::map<int, CpuPlace>& cpus, const std::string& folder) {
  for (auto& [cpu, place] : cpus) {
    const std::string package = first_line(folder + "/cpu" + std::to_string(cpu) + "/topology/physical_package_id");
    place.package = parse_integer(package, 0, 1'000'000).value_or(0);  // some ARM hosts say -1
  }
}

void read_cpus(std::map<int, CpuPlace>& cpus, const std::string& system) {
  const auto cpus_of_node = [&](int node) {
    return read_list(system + "/node/node" + std::to_string(node) + "/cpulist");
  };
  // Without a directory of nodes (a kernel without NUMA) all CPUs stay on node 0.
  for (const int node : numbered_entries(system + "/node", "node")) {
    put_on_node(cpus, cpus_of_node(node), node);
  }
  read_packages(cpus, system + "/cpu");
  name_groups(cpus, &CpuPlace::core, [&](int cpu) {
    return read_list(system + "/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
  });
  name_groups(cpus, &CpuPlace::cache, [&](int cpu) {
    std::vector<int> sharers = sharers_of_last_cache(system + "/cpu/cpu" + std::to_string(cpu) + "/cache");
    // Virtual machines often show no caches: then the NUMA node is the best substitute.
    return sharers.empty() ? cpus_of_node(cpus.at(cpu).numa_node) : sharers;
  });
}

}  // namespace

Result<Topology> read_topology(const std::string& root) {
  Topology topology;
  const std::string system = root + "/sys/devices/system";
  const auto status = read_fields(root + "/proc/self/status");
  const auto allowed = status.find("Cpus_allowed_list");
  if (allowed == status.end()) {
    return Error{ErrorKind::System, "cannot find out which CPUs this process may use: '" + root +
                                        "/proc/self/status' has no Cpus_allowed_list"};
  }
  const auto listed = parse_ranges(allowed->second);
  if (!listed) {
    return Error{ErrorKind::System, "cannot find out which CPUs this process may use: Cpus_allowed_list in '" + root +
                                        "/proc/self/status' is '" + allowed->second + "'"};
  }
  // The list may contain CPUs that a virtual machine could get later, and that do not exist now.
  const std::vector<int> online = read_online(system);
  topology.allowed_cpus = common_of(*listed, online);
  if (topology.allowed_cpus.empty()) {  // the topology is not that of this process's CPUs
    topology.allowed_cpus = *listed;
  }
  for (const int cpu : all_of(online, topology.allowed_cpus)) {
    topology.cpus[cpu];
  }
  read_cpus(topology.cpus, system);

  const auto memory = status.find("Mems_allowed_list");
  topology.memory_nodes = common_of(
      read_list(system + "/node/has_memory"),
      memory == status.end() ? std::vector<int>() : parse_ranges(memory->second).value_or(std::vector<int>()));
  place_accelerators(topology, root);
  return topology;
}

// Counts the cores that this process may use: the affinity mask, limited by the CPU quota of each control group from
// its own up to the root, in version 1 and version 2.

namespace {

int cores_by_affinity(pid_t process) {
  // The kernel's mask may be larger than cpu_set_t: grow until it fits.
  for (int cores = 1024; cores <= 1024 * 64; cores *= 2) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(cores));
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cores));
    const bool is_read = sched_getaffinity(process, size, set) == 0;
    const int count = is_read ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (is_read) {
      return std::max(1, count);
    }
  }
  return std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

/// Cores that the quota in one group allows, 0 when there is no quota.
double quota_of(int version, const std::string& folder) {
  double quota = -1;
  double period = 0;
  if (version == 2) {
    std::ifstream file(folder + "/cpu.max");  // "200000 100000" or "max 100000"
    file >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

void lower_by_quota(AllowedCores& cores, double quota, const std::string& file) {
  const int allowed = std::max(1, static_cast<int>(std::ceil(quota)));
  if (quota > 0 && allowed < cores.count) {
    cores.count = allowed;
    cores.source = file;
  }
}

}  // namespace

AllowedCores count_allowed_cores() {
  AllowedCores cores{.count = cores_by_affinity(0), .source = "affinity", .of_parent = 0};
  AllowedCores of_parent{.count = cores_by_affinity(::getppid()), .source = "affinity", .of_parent = 0};
  for (const ControlGroup& group : own_cgroups("cpu")) {
    const char* const file = group.version == 2 ? "/cpu.max" : "/cpu.cfs_quota_us";
    for (const std::string& folder : group.folders) {
      const double quota = quota_of(group.version, folder);
      lower_by_quota(cores, quota, folder + file);
      lower_by_quota(of_parent, quota, folder + file);
    }
  }
  cores.of_parent = of_parent.count;
  return cores;
}

}  // namespace muster
