#pragma once

// Finds out which children have ended, and reaps them.

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
  ProcessUse use{};                            ///< of a failed worker
  std::optional<std::uint64_t> memory_peak{};  ///< bytes; empty: it was not reaped here
  std::optional<pid_t> traced_by{};            ///< the tracer that keeps it from being reaped
  uid_t user = 0;                              ///< its effective user at the end; 0: root, or unknown
};

/// A living worker that was stopped (by SIGSTOP, SIGTSTP ...).
struct Stopped {
  std::size_t worker = 0;
  pid_t pid = -1;
  int signal = 0;
};

/// Finds and reaps ended children: workers, and orphans that we adopt as a subreaper. The only caller of wait*.
///
/// Workers are found through their pidfds in one epoll set, which reports them in the order of their deaths;
/// waitid(P_ALL) would report the oldest child first. Without pidfds the order of deaths found together is unknown,
/// and they count as simultaneous.
class Reaper {
 public:
  Reaper();

  /// Readable when a worker has ended. Close-on-exec, owned by the reaper.
  int ready_fd() const { return epoll_.get(); }

  /// Waits for a worker from now on. `pidfd` may be empty.
  void watch(std::size_t worker, pid_t pid, UniqueFd pidfd);

  /// Workers that ended since the last call, first death first. Also reaps orphans.
  std::vector<Death> collect();

  /// Workers that have ended and are kept by their tracers. `collect` finds these too, but without pidfds nothing
  /// notifies us: SIGCHLD goes to the tracer. Reads /proc for each watched worker.
  std::vector<Death> collect_traced_zombies();

  /// Workers that were stopped since the last call.
  std::vector<Stopped> collect_stopped() const;

  /// False if no child is left: then there is no descendant either, since orphans become our children.
  static bool has_children();

 private:
  struct Watched {
    std::size_t worker = 0;
    UniqueFd pidfd;
  };
  void collect_ready(std::vector<Death>& deaths);
  bool reap(pid_t pid, std::vector<Death>& deaths);
  void note_traced_zombie(pid_t pid, std::vector<Death>& deaths);
  static Death find_death(pid_t pid);

  UniqueFd epoll_;
  std::map<pid_t, Watched> watched_;
};

}  // namespace muster
