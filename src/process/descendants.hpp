#pragma once

// Finds descendants of a process, and sends signals that cannot hit other processes.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace muster {

// The last resort against processes that fork faster than they can be killed.

/// Moves processes into a control group of their own (version 2) and kills it as a whole, with what they fork
/// meanwhile. Does nothing if the file system is not writable.
///
/// The group is made only when needed: entering one costs milliseconds, and a job that ends well needs none.
class CgroupKiller {
 public:
  CgroupKiller() = default;
  CgroupKiller(const CgroupKiller&) = delete;
  CgroupKiller& operator=(const CgroupKiller&) = delete;
  ~CgroupKiller();

  /// True if processes were moved and the group was killed.
  bool kill(const std::vector<pid_t>& pids);

 private:
  std::string folder_;  ///< empty until the group exists
};

/// Makes a group and removes it. Returns 0 if it can be killed as a whole, else an errno: ENOENT without groups of
/// version 2, ENOSYS without cgroup.kill.
int probe_cgroup();

/// A process as /proc shows it.
struct Process {
  pid_t pid = -1;
  pid_t parent = -1;
  char state = '?';                   ///< R, S, D, T, Z ...
  unsigned long long start_time = 0;  ///< in clock ticks since boot; with the pid it identifies a process
  unsigned flags = 0;                 ///< PF_... of the kernel
  unsigned long cpu_ticks = 0;        ///< user and system time in clock ticks
  long threads = 0;                   ///< including the main thread, which may have ended before others
  std::string name;                   ///< up to 15 characters
};

/// False if /proc is not mounted, or shows another pid namespace, whose pids mean other processes.
bool is_proc_ours();

/// Reads one process; empty: /proc does not show it.
std::optional<Process> find_process(pid_t pid);

/// Reads all processes; none if /proc is not mounted, or shows another pid namespace.
std::vector<Process> read_processes();

/// Children of our main thread, including zombies: until they are reaped their pids are not reused. Takes
/// microseconds, however many processes run; may miss one while another is reaped. Empty without CONFIG_PROC_CHILDREN
/// (proc_pid_children(5)).
std::vector<pid_t> own_children();
/// Returns the children of another process's main thread, as the kernel lists them.
std::vector<pid_t> listed_children(pid_t process);

/// The living descendants of `root`, parents before children, without the processes in `excluded` and their
/// descendants.
std::vector<Process> descendants(const std::vector<Process>& all, pid_t root, const std::set<pid_t>& excluded);

/// Signals the process that was seen, and no other one that has got its pid meanwhile.
void signal_exactly(const Process& process, int signal);

/// Sends SIGKILL to all descendants of the process. Reads all processes only if it has a child.
void kill_descendants(pid_t process);

/// A variable of the process's initial environment; empty: not set, or not readable.
std::optional<std::string> variable_of(pid_t pid, const std::string& name);

/// Bytes of memory that the process has, those that it shares among them; empty: not readable.
std::optional<std::uint64_t> resident_bytes(pid_t pid);

/// True while the kernel takes the process down, so that a signal has no effect any more. Signal handlers do not tell
/// this: Python restores the defaults before it exits, and a process in sigwait does not show the signal as blocked.
bool is_exiting(const Process& process);

/// The tracer of a zombie, which keeps it from being reaped; empty: not a zombie, or not traced.
std::optional<pid_t> tracer_of_zombie(pid_t pid);

/// True if no thread of it runs. A process whose main thread has ended is in state Z as well, while others run on.
bool is_dead(const Process& process);

/// The wait status of a zombie that is not reaped, as waitpid(2) would return it; empty: not ended, or not readable.
std::optional<int> zombie_wait_status(pid_t pid);

/// True if MUSTER_JOB_MARKER in the process's initial environment contains this marker (separated by colons).
bool has_marker(pid_t pid, const std::string& marker);

// Killing of processes of the job that are not workers.

/// Interval between rounds of SIGKILL.
inline constexpr std::chrono::milliseconds kKillRound{20};
/// Wait limit after SIGKILL. A process exits at once, unless it is in an uninterruptible system call or has very much
/// memory to release.
inline constexpr std::chrono::seconds kKillLimit{5};

/// Signals and kills descendants of `root`, and no other process.
class Sweeper {
 public:
  explicit Sweeper(pid_t root) : root_(root) {}

  /// Processes left by ended workers: our descendants, without living workers and the descendants of these.
  std::vector<Process> orphans(const std::set<pid_t>& living_workers) const;

  /// The orphans that are our own children: living children that are not in `known`. Reads no other processes if the kernel
  /// lists children.
  std::vector<Process> adopted(const std::set<pid_t>& known) const;

  /// True if there are children, and all are zombies kept by their tracers. Zombies without a tracer make it false:
  /// they may belong to processes that fork faster than a scan reads.
  bool has_only_held(const std::set<pid_t>& excluded) const;

  /// True if nothing but these processes and what they have started is left.
  bool has_only(const std::set<pid_t>& excluded) const;

  /// Sends `signal` once to each process, and SIGCONT, because a stopped one could not handle it. True: some had not
  /// got it before.
  bool send_stop_signal(const std::vector<Process>& processes, int signal);
  /// Notes that these processes have got the signal by another way.
  void note_sent(const std::vector<Process>& processes, int signal);
  /// Forgets which signals were sent, so that they can be sent again.
  void forget_sent() { asked_.clear(); }

  /// True for a child of another job that is not in `excluded`; empty: there are none.
  std::function<bool(pid_t)> is_foreign;

  /// Sends SIGKILL to all descendants and to those that are re-parented to us meanwhile, without `excluded` and its
  /// descendants. To be repeated until none is left, since some may have forked. From the third round on it uses a
  /// control group, if one can be made. Returns the processes found.
  std::vector<Process> kill_round(const std::set<pid_t>& excluded);

 private:
  static constexpr int kRoundsWithoutNet = 2;

  void kill_children(const std::set<pid_t>& excluded) const;

  pid_t root_;
  int rounds_ = 0;
  std::set<std::tuple<pid_t, unsigned long long, int>> asked_;  ///< pid, start time and signal
  CgroupKiller net_;
};

/// "pid 4712 (sleep), pid 4713 (python3) and 7 more".
std::string describe_processes(const std::vector<Process>& processes);

}  // namespace muster
