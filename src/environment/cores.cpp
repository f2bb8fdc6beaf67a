// Counts the cores that this process may use: the affinity mask, lowered by the CPU quota of each
// control group from ours up to the root, in version 1 and version 2.
#include <muster/base/text.hpp>
#include <muster/environment/snapshot.hpp>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>

namespace muster {
namespace {

/// Where a control group hierarchy with the CPU controller is mounted, and where we are in it.
struct CpuHierarchy {
  int version = 0;
  std::string mount;  ///< mount point
  std::string root;   ///< which group of the hierarchy is mounted there
  std::string group;  ///< our group, as /proc/self/cgroup names it
};

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

bool has_item(std::string_view list, std::string_view item) {
  const std::vector<std::string> items = split(list, ',');
  return std::find(items.begin(), items.end(), item) != items.end();
}

/// Our group in each hierarchy. Lines are "4:cpu,cpuacct:/group", and "0::/group" for version 2.
void read_groups(std::vector<CpuHierarchy>& hierarchies) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) {
      hierarchies.push_back(
          {.version = 2, .mount = {}, .root = {}, .group = line.substr(second + 1)});
    } else if (has_item(controllers, "cpu")) {
      hierarchies.push_back(
          {.version = 1, .mount = {}, .root = {}, .group = line.substr(second + 1)});
    }
  }
}

/// What a line of mountinfo says about a mount.
struct Mount {
  std::string root;
  std::string point;
  std::string type;
  std::string options;
};

/// Lines are "id parent dev root mount options [tags] - type device super-options". Empty: of another
/// type than cgroup, as most of them are.
std::optional<Mount> parse_cgroup_mount(const std::string& line) {
  const std::size_t dash = line.find(" - cgroup");
  if (dash == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream before(line.substr(0, dash));
  std::istringstream after(line.substr(dash + 3));
  std::string skipped;
  Mount mount;
  before >> skipped >> skipped >> skipped >> mount.root >> mount.point;
  after >> mount.type >> skipped >> mount.options;
  return mount;
}

bool is_mount_of(const Mount& mount, const CpuHierarchy& hierarchy) {
  return hierarchy.version == 2 ? mount.type == "cgroup2"
                                : mount.type == "cgroup" && has_item(mount.options, "cpu");
}

void note_mount(std::vector<CpuHierarchy>& hierarchies, const Mount& mount) {
  for (CpuHierarchy& hierarchy : hierarchies) {
    if (hierarchy.mount.empty() && is_mount_of(mount, hierarchy)) {
      hierarchy.mount = mount.point;
      hierarchy.root = mount.root;
    }
  }
}

void read_mounts(std::vector<CpuHierarchy>& hierarchies) {
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    if (const auto mount = parse_cgroup_mount(line)) {
      note_mount(hierarchies, *mount);
    }
  }
}

/// Cores that the quota in one group allows, 0 when there is no quota.
double quota_of(const CpuHierarchy& hierarchy, const std::string& folder) {
  double quota = -1;
  double period = 0;
  if (hierarchy.version == 2) {
    std::ifstream file(folder + "/cpu.max");  // "200000 100000" or "max 100000"
    file >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

/// The folders of our group and of all groups above it, as far as they are mounted.
std::vector<std::string> folders_of(const CpuHierarchy& hierarchy) {
  std::string group = hierarchy.group == "/" ? "" : hierarchy.group;
  if (hierarchy.root != "/" && group.starts_with(hierarchy.root)) {
    group.erase(0, hierarchy.root.size());  // in a container the mount shows only its own part
  }
  std::vector<std::string> folders = {hierarchy.mount + group};
  while (!group.empty()) {
    group.erase(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
    folders.push_back(hierarchy.mount + group);
  }
  return folders;
}

void lower_by_quotas(AllowedCores& cores, const CpuHierarchy& hierarchy) {
  if (hierarchy.mount.empty()) {
    return;
  }
  const char* const file = hierarchy.version == 2 ? "/cpu.max" : "/cpu.cfs_quota_us";
  for (const std::string& folder : folders_of(hierarchy)) {
    const double quota = quota_of(hierarchy, folder);
    const int allowed = std::max(1, static_cast<int>(std::ceil(quota)));
    if (quota > 0 && allowed < cores.count) {
      cores.count = allowed;
      cores.source = folder + file;
    }
  }
}

}  // namespace

AllowedCores count_allowed_cores() {
  AllowedCores cores{.count = cores_by_affinity(0), .source = "affinity", .of_parent = 0};
  AllowedCores of_parent{
      .count = cores_by_affinity(::getppid()), .source = "affinity", .of_parent = 0};
  std::vector<CpuHierarchy> hierarchies;
  read_groups(hierarchies);
  read_mounts(hierarchies);
  for (const CpuHierarchy& hierarchy : hierarchies) {
    lower_by_quotas(cores, hierarchy);
    lower_by_quotas(of_parent, hierarchy);
  }
  cores.of_parent = of_parent.count;
  return cores;
}

}  // namespace muster
