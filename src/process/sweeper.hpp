#pragma once

// Ends processes of the job that are no workers any more. Private to run/.

#include "process/control_group.hpp"
#include "process/descendants.hpp"

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// Killing goes in rounds, so far apart.
inline constexpr std::chrono::milliseconds kKillRound{20};
/// After KILL a process disappears at once, unless it sits in an uninterruptible system call or
/// has very much memory to give back. Longer than this nobody waits.
inline constexpr std::chrono::seconds kKillLimit{5};

/// Signals and kills what descends from us. It never signals what does not.
class Sweeper {
 public:
  explicit Sweeper(pid_t root) : root_(root) {}

  /// What ended workers left behind: our descendants, without the living workers and theirs.
  [[nodiscard]] std::vector<Process> orphans(const std::set<pid_t>& living_workers) const;

  /// True when children are left, and all of them are dead and kept from being buried by who traces them. A look at
  /// processes that fork faster than one can look sees other dead.
  [[nodiscard]] bool has_only_held(const std::set<pid_t>& excluded) const;

  /// Sends `signal` to each of them that has not been asked before, and CONT so that a stopped one
  /// can act on it.
  void send_stop_signal(const std::vector<Process>& processes, int signal);

  /// Whether a child that `kill_round` is not told to spare is somebody else's. Empty: none is.
  std::function<bool(pid_t)> is_foreign;

  /// KILLs every descendant that exists now, and who comes to us meanwhile. To be called again until none is left: some may
  /// have forked meanwhile. From the third round on a control group helps, where one can be made.
  /// `excluded` and what descends from them is spared. Returns what was still there.
  std::vector<Process> kill_round(const std::set<pid_t>& excluded);

 private:
  static constexpr int kRoundsWithoutNet = 2;

  void kill_children(const std::set<pid_t>& excluded) const;

  pid_t root_;
  int rounds_ = 0;
  std::set<std::pair<pid_t, unsigned long long>> asked_;  ///< pid and start time
  CgroupKiller net_;
};

/// "pid 4712 (sleep), pid 4713 (python3) and 7 more".
[[nodiscard]] std::string describe_processes(const std::vector<Process>& processes);

}  // namespace muster
