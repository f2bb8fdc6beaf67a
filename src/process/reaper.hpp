#pragma once

// Finds out which children have ended, and buries them. Private to run/.

#include "base/file_io.hpp"
#include "supervise/end_hints.hpp"
#include "supervise/exit_status.hpp"

#include <sys/types.h>

#include <map>
#include <optional>
#include <vector>

namespace muster {

struct Death {
  std::size_t worker = 0;
  ExitStatus status = ExitStatus::exited(0);
  ProcessUse use{};                  ///< of one that failed
  std::optional<pid_t> traced_by{};  ///< the process that traces it: it cannot be buried before that lets it go
};

/// A worker that was stopped (by SIGSTOP, SIGTSTP ...) and is alive.
struct Stopped {
  std::size_t worker = 0;
  pid_t pid = -1;
  int signal = 0;
};

/// The only caller of wait*: workers and the orphans that we adopt as a subreaper.
///
/// Workers are found through their pidfds in one epoll set, which reports them in the order in
/// which they ended; waitid(P_ALL) would report the oldest child first. Where the kernel has no
/// pidfd the order among deaths found together is unknown; who ranks failures takes those for one moment.
class Reaper {
 public:
  Reaper();

  /// Readable when a worker has ended. Close-on-exec, owned by the reaper.
  [[nodiscard]] int ready_fd() const { return epoll_.get(); }

  /// From here on the worker is waited for. `pidfd` may be empty.
  void watch(std::size_t worker, pid_t pid, UniqueFd pidfd);

  /// Workers that have ended since the last call, first death first. Orphans are buried quietly.
  [[nodiscard]] std::vector<Death> collect();

  /// Workers that have ended and are held by who traces them. `collect` finds these too, but where the kernel has no
  /// pidfd nothing tells of them: SIGCHLD goes to the tracer. Reads /proc for each worker that is watched.
  [[nodiscard]] std::vector<Death> collect_traced_zombies();

  /// Workers that were stopped since the last call.
  [[nodiscard]] std::vector<Stopped> collect_stopped() const;

  /// False when no child is left: then no descendant is either, since orphans become our children.
  [[nodiscard]] static bool has_children();

 private:
  struct Watched {
    std::size_t worker = 0;
    UniqueFd pidfd;
  };
  void collect_ready(std::vector<Death>& deaths);
  void take_ready(pid_t pid, std::vector<Death>& deaths);
  bool reap(pid_t pid, std::vector<Death>& deaths);
  void note_traced_zombie(pid_t pid, std::vector<Death>& deaths);
  [[nodiscard]] static Death look_at(pid_t pid);

  UniqueFd epoll_;
  std::map<pid_t, Watched> watched_;
};

}  // namespace muster
