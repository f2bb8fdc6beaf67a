// Counts the cores that this process may use: the affinity mask, lowered by the CPU quota of each
// control group from ours up to the root, in version 1 and version 2.
#include "environment/control_groups.hpp"

#include "environment/snapshot.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace muster {
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
  AllowedCores of_parent{
      .count = cores_by_affinity(::getppid()), .source = "affinity", .of_parent = 0};
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
