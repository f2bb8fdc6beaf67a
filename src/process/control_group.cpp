// Control groups, version 2: https://docs.kernel.org/admin-guide/cgroup-v2.html (cgroup.kill).
#include "process/control_group.hpp"

#include "base/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

namespace muster {
namespace {

bool write_text(const std::string& path, const std::string& text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string mount_point() {
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string device;
    std::string folder;
    std::string type;
    fields >> device >> folder >> type;
    if (type == "cgroup2") {
      return folder;
    }
  }
  return {};
}

std::string local_group() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::")) {
      return line.substr(3);
    }
  }
  return {};
}

/// A group of our own.
struct CreatedGroup {
  std::string folder;    ///< empty: there is none
  int error_number = 0;  ///< why; ENOENT: there are no groups of version 2
};

/// Below the group that we are in.
CreatedGroup make_group() {
  const std::string mount = mount_point();
  const std::string group = local_group();
  const std::string folder =
      mount + (group == "/" ? "" : group) + "/muster-" + std::to_string(::getpid());
  if (mount.empty() || group.empty()) {
    return {"", ENOENT};
  }
  return ::mkdir(folder.c_str(), 0755) == 0 ? CreatedGroup{folder, 0} : CreatedGroup{"", errno};
}

}  // namespace

int probe_cgroup() {
  const CreatedGroup made = make_group();
  if (made.folder.empty()) {
    return made.error_number;
  }
  const bool can_kill = ::access((made.folder + "/cgroup.kill").c_str(), F_OK) == 0;
  (void)::rmdir(made.folder.c_str());
  return can_kill ? 0 : ENOSYS;
}

bool CgroupKiller::kill(const std::vector<pid_t>& pids) {
  if (folder_.empty()) {
    folder_ = make_group().folder;
  }
  if (folder_.empty()) {
    return false;
  }
  bool has_moved = false;
  for (const pid_t pid : pids) {
    has_moved = write_text(folder_ + "/cgroup.procs", std::to_string(pid)) || has_moved;
  }
  return has_moved && write_text(folder_ + "/cgroup.kill", "1");
}

/// What could not be killed is inside, and would keep the group for good: it goes back to where it was.
CgroupKiller::~CgroupKiller() {
  if (folder_.empty() || ::rmdir(folder_.c_str()) == 0) {
    return;
  }
  std::ifstream inside(folder_ + "/cgroup.procs");
  const std::string home = folder_.substr(0, folder_.rfind('/'));
  for (std::string pid; std::getline(inside, pid);) {
    (void)write_text(home + "/cgroup.procs", pid);
  }
  ::rmdir(folder_.c_str());
}

}  // namespace muster
