#pragma once

// Finds out what a program does (waits for ranks, compiles, serves requests) from the function of a library or of the
// kernel that it is in. Pure; tables list the functions.

#include "hang/evidence.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::hang {

/// Stands behind the kernel function in `Place::wait` if this function reads standard input or a terminal.
inline constexpr std::string_view kOfInput = " (standard input)";
/// Stands there if the function reads a pipe without a name: a child or the parent of the process writes to it.
inline constexpr std::string_view kOfPipe = " (pipe)";

/// The file of a call that is not Python code. Interpreters do not show such calls.
inline constexpr std::string_view kBuiltin = "<built-in>";

enum class Occupation {
  Unknown,        ///< code that no row knows, such as the user's own
  WaitsForRanks,  ///< in an operation with others, such as a collective
  Backward,       ///< computes gradients, or waits for other ranks inside: it waits if nothing moves
  WaitsForLock,   ///< waits for the lock of a file, by looking again and again
  Compiles,       ///< compiles, for minutes without an outside sign
  Imports,        ///< imports modules, perhaps for minutes without an outside sign
  Serves,         ///< waits for a request, for hours
  WaitsForChild,  ///< a process that it has started
  WaitsForInput,  ///< on its terminal or standard input
};

/// The occupation of a program: by the libraries that it calls, or in the user's own code, by the kernel function.
Occupation occupation_of(const Place& place);

/// True if the program imports a module. The import may be in a function of the user, such as a finder of modules.
bool is_importing(const Stack& stack);

/// The operation in which the stack waits for other ranks, such as "all_reduce" or "init_process_group"; empty: no
/// known one.
std::string awaited_operation(const Stack& stack);

/// True if the stack waits for no other ranks, or is in a wait in which a rank may also compute.
bool may_compute(const Stack& stack);

/// True if the kernel function may belong to a wait for ranks in C++: it waits for another thread or a socket.
bool waits_for_thread_or_socket(std::string_view kernel_wait);

/// Finds the call of a C++ object by which the user's code waits for ranks, in the source line: "work.wait()", or
/// "store.get(key)". Waits of Python's own library have frames already. Empty: the line has no such call, or the
/// kernel does not wait for another thread or a socket.
std::optional<Frame> find_builtin_wait(std::string_view source_line, std::string_view kernel_wait);

/// True if the stack is in a wait in which a library checks every few seconds whether its processes live: such checks
/// are no work.
bool is_polling_wait(const Stack& stack);

/// True if the stack of a main thread serves requests, or waits for other threads, so that these may do the work.
bool leaves_work_to_threads(const Stack& stack);

/// The index of the thread that trains. It is the main thread, which comes first, unless that leaves its work to
/// others: then a thread that waits for ranks, otherwise the one in the user's code with the most CPU time.
std::size_t find_training_thread(const std::vector<Thread>& threads);

/// True for the operations by which the ranks find each other at the start.
bool is_first_meeting(const std::string& operation);

}  // namespace muster::hang
