#pragma once

// Ends the processes that an agent has left, from the guard. Private to src/guard.

#include "guard/agent_watchdog.hpp"
#include "process/descendants.hpp"

#include <sys/types.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// Children of this process from before the job.
struct PreexistingChildren {
  std::set<pid_t> pids;
  bool are_ours = true;  ///< all of them are helper processes that hang in a file system
};

/// Ends descendants of the guard, wherever in its tree they are, but none of other jobs: children from before the job
/// are excluded (`exec muster` keeps those of the shell), and in a container's init every process without the marker.
class GuardCleanup {
 public:
  GuardCleanup(pid_t agent, const std::string& marker, GuardSharedMemory& page)
      : agent_(agent), marker_(marker), page_(page) {}

  /// To be called before the agent is forked.
  static PreexistingChildren find_preexisting_children();
  void exclude(PreexistingChildren earlier) { earlier_ = std::move(earlier); }

  /// Sends the stop signal to workers and their descendants in place of the agent, and notes it in shared memory.
  void send_stop_signal(int signal) const;
  /// Helper processes end by themselves once the agent has and everything is written. SIGKILLs those left after
  /// `patience`, and does not wait for them. To be called after `kill`.
  void kill_helpers(std::chrono::steady_clock::duration timeout) const;
  /// Sends SIGKILL in rounds for at most `most_time`, extended by 5 s while victims are runnable but not scheduled.
  /// Kills the agent without waiting for it; excludes helper processes. Returns what could not be killed.
  std::vector<Process> kill(std::chrono::steady_clock::duration most_time) const;

 private:
  bool adopts_only_ours() const;
  bool is_foreign(pid_t child) const;
  std::set<pid_t> excluded() const;

  pid_t agent_;
  const std::string& marker_;
  GuardSharedMemory& page_;
  PreexistingChildren earlier_;
};

}  // namespace muster
