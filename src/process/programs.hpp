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

/// `tops`, and of each shell among them every living process that it has started, again through shells. A shell comes
/// before what it has started: it would start its next command. Pure.
std::vector<Process> through_shells(const std::vector<Process>& tops, const std::vector<Process>& all,
                                    const std::function<bool(const Process&)>& is_a_shell);

/// Takes out of a worker's programs what waits for a shell's handler: what the shell has started in the background, if it has
/// a handler for the signal and waits for nothing else. That handler may pass the signal on, or tell them by another way. Nothing for
/// SIGINT, which shells catch without a handler of the script.
std::vector<Process> take_left_to_handlers(std::vector<Process>& programs, int signal);

/// Programs that a request to end does not go to.
struct Unasked {
  std::vector<Process> to_handlers;  ///< see `take_left_to_handlers`
  /// Programs such as `tee`: the signal would end them, but they read the output of a program that the signal does not end.
  /// They end when this output ends; if they ended first, the other program could not write while it saves.
  std::set<pid_t> readers;
};
/// Takes the programs that are not asked out of a worker's programs.
Unasked take_unasked(std::vector<Process>& programs, int signal);

/// The programs that a signal is for which is no request: those that survive it, if there is one, else all. A shell that
/// ended would take the rank with it, and `tee` the output of its program. Pure.
std::vector<Process> informed_programs(const std::vector<Process>& programs,
                                       const std::function<bool(const Process&)>& survives_it);

/// Calls `through_shells` for each of `tops`; `is_passed_over` is its `is_a_shell`. Reads all processes only where one of
/// them is passed over.
std::vector<std::vector<Process>> programs_of(const std::vector<Process>& tops,
                                              const std::function<bool(const Process&)>& is_passed_over = runs_shell);

}  // namespace muster
