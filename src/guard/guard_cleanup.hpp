#pragma once

// How the guard ends what the agent has left. Private to run/.

#include "guard/agent_watchdog.hpp"
#include "process/descendants.hpp"

#include <sys/types.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// Those of this process before it makes any for the job.
struct PreexistingChildren {
  std::set<pid_t> pids;
  bool are_ours = true;  ///< they work on files, and hang
};

/// Ends descendants of the guard, wherever in its tree they are, and none of other jobs. Those that it had before it made
/// any are not the job's (`exec muster` keeps the shell's), nor is, where it is a container's first process, what does not
/// carry the marker.
class GuardCleanup {
 public:
  GuardCleanup(pid_t agent, const std::string& marker, GuardSharedMemory& page)
      : agent_(agent), marker_(marker), page_(page) {}

  /// To be called before the agent is made.
  [[nodiscard]] static PreexistingChildren find_preexisting_children();
  void exclude(PreexistingChildren earlier) { earlier_ = std::move(earlier); }

  /// Asks the workers and what they have started to end, as the agent would, which finds on the page that they were.
  void send_stop_signal(int signal) const;
  /// What works on files beside the agent ends by itself when the agent has and everything is written. To be called after
  /// the rounds: KILLs what has not after so long, and does not wait for that.
  void kill_helpers(std::chrono::steady_clock::duration patience) const;
  /// KILLs in rounds until nothing is left, but for so long at most, and longer while what was found has merely got no core to die on. The agent is killed too and not waited for; what works
  /// aside is spared. Returns what could not be killed.
  [[nodiscard]] std::vector<Process> kill(std::chrono::steady_clock::duration most_time) const;

 private:
  [[nodiscard]] bool adopts_only_ours() const;
  [[nodiscard]] bool is_foreign(pid_t child) const;
  [[nodiscard]] std::set<pid_t> excluded() const;

  pid_t agent_;
  const std::string& marker_;
  GuardSharedMemory& page_;
  PreexistingChildren earlier_;
};

}  // namespace muster
