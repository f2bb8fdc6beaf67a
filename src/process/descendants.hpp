#pragma once

// Who descends from a process, and signals that cannot hit a stranger. Private to run/.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// A process as /proc shows it.
struct Process {
  pid_t pid = -1;
  pid_t parent = -1;
  char state = '?';  ///< R, S, D, T, Z ...
  unsigned long long start_time =
      0;                        ///< in clock ticks since boot; with the pid it names a process
  unsigned long cpu_ticks = 0;  ///< what it has computed, in clock ticks
  long threads = 0;             ///< with the first one, which may have ended before others
  std::string name;             ///< up to 15 characters
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
[[nodiscard]] std::vector<Process> descendants(const std::vector<Process>& all,
                                               pid_t root,
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

}  // namespace muster
