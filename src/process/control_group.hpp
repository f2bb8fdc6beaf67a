#pragma once

// The last net under processes that fork faster than they can be killed. Private to run/.

#include <sys/types.h>

#include <string>
#include <vector>

namespace muster {

/// Moves processes into a control group of their own (version 2) and kills it as a whole: what they
/// fork in the meantime is born inside it. Where the file system is not writable nothing happens.
///
/// It is made only when it is needed: to enter a group costs milliseconds, and a job that ends
/// well needs none.
class CgroupKiller {
 public:
  CgroupKiller() = default;
  CgroupKiller(const CgroupKiller&) = delete;
  CgroupKiller& operator=(const CgroupKiller&) = delete;
  ~CgroupKiller();

  /// True when the processes were moved and the group was killed.
  bool kill(const std::vector<pid_t>& pids);

 private:
  std::string folder_;  ///< empty until the group exists
};

/// 0 where a group can be made and killed as a whole, else why not as errno: ENOENT where there are no groups of version 2,
/// ENOSYS where they cannot be killed. It makes one and removes it.
[[nodiscard]] int probe_cgroup();

}  // namespace muster
