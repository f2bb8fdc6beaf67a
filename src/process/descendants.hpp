#pragma once

// Who descends from a process, and signals that cannot hit a stranger.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

// The last net under processes that fork faster than they can be killed.

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

/// A process as /proc shows it.
struct Process {
  pid_t pid = -1;
  pid_t parent = -1;
  char state = '?';                   ///< R, S, D, T, Z ...
  unsigned long long start_time = 0;  ///< in clock ticks since boot; with the pid it names a process
  unsigned long cpu_ticks = 0;        ///< what it has computed, in clock ticks
  long threads = 0;                   ///< with the first one, which may have ended before others
  std::string name;                   ///< up to 15 characters
};

/// False where /proc is not mounted, or shows another pid namespace: its numbers would be those of strangers.
[[nodiscard]] bool is_proc_ours();

/// One process; empty: /proc does not show it.
[[nodiscard]] std::optional<Process> find_process(pid_t pid);

/// All processes that /proc shows; none where it is not mounted or not that of our pid namespace.
[[nodiscard]] std::vector<Process> read_processes();

/// The children of this process's first thread, dead ones that are not buried with them: until then their numbers are nobody
/// else's. A look of microseconds, whatever else runs on the machine; it may miss one while another is buried. None where the
/// kernel does not tell (CONFIG_PROC_CHILDREN; proc_pid_children(5)).
[[nodiscard]] std::vector<pid_t> own_children();

/// The living descendants of `root`, parents before children. Whatever descends from a process in
/// `excluded`, and that process itself, is left out.
[[nodiscard]] std::vector<Process> descendants(const std::vector<Process>& all, pid_t root,
                                               const std::set<pid_t>& excluded);

/// Signals the very process that was seen: if its pid belongs to another one by now, nobody is.
void signal_exactly(const Process& process, int signal);

/// A variable of the environment that the process was executed with; empty: it has none of that name, or may not be read.
[[nodiscard]] std::optional<std::string> variable_of(pid_t pid, const std::string& name);

/// True when the kernel is taking the process down: no signal changes how it ends, and none is answered. What it
/// handles would tell less: Python takes its handlers back before it ends, and who waits for a signal does not
/// seem to block it.
[[nodiscard]] bool is_exiting(pid_t pid);

/// Who traces a process that has ended, and so keeps it from being buried; empty: it has not ended, or nobody does.
[[nodiscard]] std::optional<pid_t> tracer_of_zombie(pid_t pid);

/// True when nothing of it runs. One whose first thread has ended shows the same state, and runs on in others.
[[nodiscard]] bool is_dead(const Process& process);

/// How a process ended that is not buried, as waitpid(2) would say it; empty: it has not ended, or we may not know.
[[nodiscard]] std::optional<int> wait_status_of_the_dead(pid_t pid);

/// True when the environment that the process was executed with has this marker among the
/// colon-separated marks of MUSTER_JOB_MARKER.
[[nodiscard]] bool has_marker(pid_t pid, const std::string& marker);

// Ends processes of the job that are no workers any more.

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
