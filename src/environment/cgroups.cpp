// Finds this process's control groups in /proc/self/cgroup and mountinfo, and reads the files of its memory group.
#include "environment/cgroups.hpp"

#include "base/text.hpp"
#include "environment/mounted_files.hpp"
#include "environment/mounts.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

namespace muster {
namespace {

/// A mounted hierarchy with the controller, and this process's group in it.
struct Hierarchy {
  int version = 0;
  std::string mount;  ///< mount point
  std::string root;   ///< the hierarchy's group that is mounted there
  std::string group;  ///< this process's group, as in /proc/self/cgroup
};

bool has_item(std::string_view list, std::string_view item) {
  return contains(split(list, ','), item);
}

/// This process's group in each hierarchy. Lines are "4:cpu,cpuacct:/group", and "0::/group" for version 2.
std::vector<Hierarchy> read_groups(std::string_view controller) {
  std::vector<Hierarchy> hierarchies;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty() || has_item(controllers, controller)) {
      hierarchies.push_back(
          {.version = controllers.empty() ? 2 : 1, .mount = {}, .root = {}, .group = line.substr(second + 1)});
    }
  }
  return hierarchies;
}

std::vector<Mount> read_cgroup_mounts() {
  std::vector<Mount> mounts;
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const bool is_cgroup = line.find(" - cgroup") != std::string::npos;  // as few of them are
    if (auto mount = is_cgroup ? parse_mount(line) : std::nullopt) {
      mounts.push_back(std::move(*mount));
    }
  }
  return mounts;
}

/// Reads the mounts once, because the kernel takes long to write them, and control groups stay mounted.
const std::vector<Mount>& cgroup_mounts() {
  static const std::vector<Mount> mounts = read_cgroup_mounts();
  return mounts;
}

/// Directories of the group and of all its ancestors, from the lowest.
std::vector<std::string> folders_of(const Hierarchy& hierarchy) {
  std::string group = hierarchy.group == "/" ? "" : hierarchy.group;
  if (hierarchy.root != "/" && group.starts_with(hierarchy.root)) {
    group.erase(0, hierarchy.root.size());  // in a container the mount shows only the container's part
  }
  std::vector<std::string> folders = {hierarchy.mount + group};
  while (!group.empty()) {
    group.erase(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
    folders.push_back(hierarchy.mount + group);
  }
  return folders;
}

}  // namespace

std::vector<ControlGroup> own_cgroups(std::string_view controller) {
  std::vector<Hierarchy> hierarchies = read_groups(controller);
  std::vector<ControlGroup> groups;
  groups.reserve(hierarchies.size());
  for (Hierarchy& hierarchy : hierarchies) {
    const auto mount = std::ranges::find_if(cgroup_mounts(), [&](const Mount& one) {
      return hierarchy.version == 2 ? one.type == "cgroup2" : one.type == "cgroup" && has_item(one.options, controller);
    });
    if (mount != cgroup_mounts().end()) {
      hierarchy.mount = mount->point;
      hierarchy.root = mount->root;
      groups.push_back({hierarchy.version, folders_of(hierarchy)});
    }
  }
  return groups;
}

namespace {

std::optional<std::uint64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

/// The number behind this name in a file of lines "name number".
std::optional<std::uint64_t> read_named_number(const std::string& path, std::string_view wanted) {
  const auto all = read_properties(path);
  const auto found = all.find(std::string(wanted));
  return found == all.end() ? std::nullopt : std::optional<std::uint64_t>(found->second);
}

/// Reads a limit; empty: none. Version 2 writes "max" for no limit, version 1 the largest multiple of a page.
std::optional<std::uint64_t> read_limit(const std::string& folder, int version) {
  constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62U;
  const auto limit = read_number(folder + (version == 2 ? "/memory.max" : "/memory.limit_in_bytes"));
  return limit && *limit > 0 && *limit < kNoLimit ? limit : std::nullopt;
}

void note_limit(MemoryGroup& found, const std::string& folder) {
  const auto limit = read_limit(folder, found.version);
  if (limit && (found.limited.empty() || *limit < found.limit)) {
    found.limited = folder;
    found.limit = *limit;
  }
}

}  // namespace

MemoryGroup find_memory_group() {
  for (const ControlGroup& group : own_cgroups("memory")) {
    std::string file = group.folders.front() + (group.version == 2 ? "/memory.events" : "/memory.oom_control");
    if (!read_oom_counter(file)) {
      continue;
    }
    MemoryGroup found{.oom_counter = std::move(file), .limited = {}, .version = group.version};
    for (const std::string& folder : group.folders) {
      note_limit(found, folder);
    }
    return found;
  }
  return {};
}

// The kernel counts before it sends the signal, so a process that has seen the death reads the new count.

std::optional<std::uint64_t> read_oom_counter(const std::string& file) {
  return read_named_number(file, "oom_kill");
}

std::optional<std::uint64_t> read_memory_peak(const MemoryGroup& group) {
  const std::string folder = group.oom_counter.substr(0, group.oom_counter.rfind('/') + 1);
  return read_number(folder + (group.version == 2 ? "memory.peak" : "memory.max_usage_in_bytes"));
}

std::optional<std::uint64_t> read_used_memory(const MemoryGroup& group) {
  if (group.limited.empty()) {
    return std::nullopt;
  }
  const bool is_new = group.version == 2;
  const auto used = read_number(group.limited + (is_new ? "/memory.current" : "/memory.usage_in_bytes"));
  if (!used || *used < group.limit / 2) {
    return used;
  }
  std::uint64_t caches = 0;
  for (const char* const name : {"inactive_file", "active_file"}) {
    caches +=
        read_named_number(group.limited + "/memory.stat", is_new ? name : "total_" + std::string(name)).value_or(0);
  }
  return *used - std::min(caches, *used);
}

}  // namespace muster
