#pragma once

// Finds a worker's programs: the processes that a signal for the program is for, and not their helpers, which end by it
// while the program still needs them (docs/processes.md, "Who gets a signal").

#include "process/descendants.hpp"

#include <sys/types.h>

#include <functional>
#include <vector>

namespace muster {

/// True for a shell, by its executable, since a script has a name of its own. Where that may not be read, by its name.
[[nodiscard]] bool runs_shell(const Process& process);

/// True if the process has a handler for the signal, or ignores it.
[[nodiscard]] bool survives(pid_t pid, int signal);

/// `tops`, and of each shell among them every living process that it has started, again through shells. A shell comes
/// before what it has started: it would start its next command. Pure.
[[nodiscard]] std::vector<Process> through_shells(const std::vector<Process>& tops, const std::vector<Process>& all,
                                                  const std::function<bool(const Process&)>& is_a_shell);

/// Calls `through_shells` for the processes in /proc, which is read as a whole only where a shell is among `tops`.
[[nodiscard]] std::vector<Process> programs_of(const std::vector<Process>& tops);

}  // namespace muster
