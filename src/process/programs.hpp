#pragma once

// Finds a worker's programs: the processes that a signal for the program is for, and not their helpers, which end by it
// while the program still needs them (docs/processes.md, "Who gets a signal").

#include "process/descendants.hpp"

#include <sys/types.h>

#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// True if one of these sets in a status file of /proc has the signal. `status`: its fields, by `read_fields`. Pure.
bool has_signal(const std::map<std::string, std::string>& status, std::initializer_list<const char*> sets, int signal);

/// True for a shell, by its executable, since a script has a name of its own. Where that may not be read, by its name.
bool runs_shell(const Process& process);

/// True if the process has a handler for the signal, ignores it, or blocks it in all threads, as one that waits for it
/// by sigwait(3) or signalfd(2).
bool survives(pid_t pid, int signal);

/// `tops`, and for each shell among them all living processes that it has started, directly or through other shells.
/// Each shell comes before its processes: if they ended first, it would start its next command. Pure.
std::vector<Process> through_shells(const std::vector<Process>& tops, const std::vector<Process>& all,
                                    const std::function<bool(const Process&)>& is_a_shell);

/// Removes from a worker's programs, and returns, those that shells with a handler for the signal have started in the
/// background and wait for, with nothing in the foreground. The handler may pass the signal on, or end them in
/// another way. Removes nothing for SIGINT, which shells catch without any handler of the script.
std::vector<Process> take_left_to_handlers(std::vector<Process>& programs, int signal);

/// Programs that muster does not send a request to end.
struct Unasked {
  std::vector<Process> to_handlers;  ///< see `take_left_to_handlers`
  /// Programs such as `tee`, which the signal would end, and which read the output of a program that the signal does
  /// not end. They end with this output; if they ended first, the other program could not write while it saves.
  std::set<pid_t> readers;
};
/// Removes from a worker's programs those that get no request to end, and returns them.
Unasked take_unasked(std::vector<Process>& programs, int signal);

/// The programs that get a signal which is no request to end: those that survive it, or all if none does. Others must
/// not get it: a shell that ended would take the rank with it, and `tee` the output of its program. Pure.
std::vector<Process> informed_programs(const std::vector<Process>& programs,
                                       const std::function<bool(const Process&)>& survives_it);

/// Calls `through_shells` for each of `tops`; processes for which `is_passed_over` is true count as shells. Reads all
/// processes only if one of `tops` is a shell.
std::vector<std::vector<Process>> programs_of(const std::vector<Process>& tops,
                                              const std::function<bool(const Process&)>& is_passed_over = runs_shell);

}  // namespace muster
