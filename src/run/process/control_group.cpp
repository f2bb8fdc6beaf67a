// Control groups, version 2: https://docs.kernel.org/admin-guide/cgroup-v2.html (cgroup.kill).
#include "control_group.hpp"

#include <muster/base/unique_fd.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

std::string own_group() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::")) {
      return line.substr(3);
    }
  }
  return {};
}

}  // namespace

bool ControlGroupNet::kill(const std::vector<pid_t>& pids) {
  if (folder_.empty()) {
    const std::string mount = mount_point();
    const std::string group = own_group();
    const std::string folder =
        mount + (group == "/" ? "" : group) + "/muster-" + std::to_string(::getpid());
    if (mount.empty() || group.empty() || ::mkdir(folder.c_str(), 0755) != 0) {
      return false;
    }
    folder_ = folder;
  }
  bool has_moved = false;
  for (const pid_t pid : pids) {
    has_moved = write_text(folder_ + "/cgroup.procs", std::to_string(pid)) || has_moved;
  }
  return has_moved && write_text(folder_ + "/cgroup.kill", "1");
}

ControlGroupNet::~ControlGroupNet() {
  if (!folder_.empty()) {
    ::rmdir(folder_.c_str());  // refused while something unkillable is inside
  }
}

}  // namespace muster
