#pragma once

// Tells by the functions of libraries and of the kernel with what a program is occupied. Pure; the functions are rows of
// tables.

#include "hang/evidence.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::hang {

/// Stands behind the kernel function in `Place::wait` if this function reads standard input or a terminal.
inline constexpr std::string_view kOfInput = " (standard input)";
/// Stands there if the function reads a pipe without a name: the writer is a child or the parent of the process.
inline constexpr std::string_view kOfPipe = " (pipe)";

/// The file of a call that no Python code makes. Interpreters do not tell of these.
inline constexpr std::string_view kBuiltin = "<built-in>";

enum class Occupation {
  Unknown,        ///< code that no row knows, such as the user's own
  WaitsForRanks,  ///< in an operation with others, such as a collective
  Backward,       ///< computes gradients, or waits for ranks inside: it waits if it does nothing
  WaitsForLock,   ///< of a file, by looking again and again
  Compiles,       ///< for minutes without a sign
  Imports,        ///< modules, perhaps for minutes without a sign
  Serves,         ///< waits for a request, for hours
  WaitsForChild,  ///< a process that it has started
  WaitsForInput,  ///< on its terminal or standard input
};

/// The occupation of a program: what the libraries do that it calls, or in the user's own code, what the kernel does for it.
Occupation occupation_of(const Place& place);

/// True if the program imports a module, also in a function of the user that the import calls, such as a finder of modules.
bool is_importing(const Stack& stack);

/// The operation in which the stack waits for other ranks, such as "all_reduce" or "init_process_group"; empty: none
/// that is known.
std::string awaited_operation(const Stack& stack);

/// True if the stack is in no wait for others, or in a wait in which a rank also computes.
bool may_compute(const Stack& stack);

/// True of a kernel function that waits for another thread or a socket.
bool may_be_builtin_wait(std::string_view kernel_wait);

/// The call of an object of C++ in which the user's code waits for ranks, by the line of its source: "work.wait()", or
/// "store.get(key)". Waits of Python's own library have frames of their own. Empty: it is none, or the kernel does not
/// wait for another thread or a socket.
std::optional<Frame> find_builtin_wait(std::string_view source_line, std::string_view kernel_wait);

/// True if the stack is in a wait in which a library checks every few seconds whether its processes live: these checks are no
/// work.
bool looks_by_itself(const Stack& stack);

/// True if the stack of a main thread serves requests, or waits for other threads of its program.
bool leaves_work_to_threads(const Stack& stack);

/// The index of the thread that trains: the first one, the main thread, unless it leaves its work to others; then one that
/// waits for ranks, else of those in the user's code the one with the most CPU time.
std::size_t find_training_thread(const std::vector<Thread>& threads);

/// True for the operations by which the ranks find each other at the start.
bool is_first_meeting(const std::string& operation);

}  // namespace muster::hang
