#pragma once

// Knows by functions of libraries and of the kernel what a program is occupied with. Pure; the rows are data.

#include "hang/evidence.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::hang {

/// Follows the kernel function in `Place::wait` where that reads standard input or a terminal.
inline constexpr std::string_view kOfInput = " (standard input)";
/// Likewise where it reads a pipe without a name: its writer is a process that it has started, or that has started it.
inline constexpr std::string_view kOfPipe = " (pipe)";

/// The file of a call that no Python code makes. Interpreters do not tell of these.
inline constexpr std::string_view kBuiltin = "<built-in>";

enum class Occupation {
  Unknown,        ///< code that no row knows, such as the user's own
  WaitsForRanks,  ///< in an operation with others, such as a collective
  Backward,       ///< computes, or waits for ranks in it: who does nothing waits
  WaitsForLock,   ///< of a file, by looking again and again
  Compiles,       ///< for minutes without a sign
  Imports,        ///< likewise
  Serves,         ///< waits for a request, for hours
  WaitsForChild,  ///< a process that it has started
  WaitsForInput,  ///< on its terminal or standard input
};

/// Of a program that calls libraries, what these do; of the user's own code, what the kernel does for it.
Occupation occupation_of(const Place& place);

/// True of a program that imports, also below a function of the user's, such as a finder of modules.
bool is_importing(const Stack& stack);

/// The operation in which the stack waits for other ranks, such as "all_reduce" or "init_process_group"; empty: none
/// that is known.
std::string awaited_operation(const Stack& stack);

/// True of a stack that is in no wait for others, or in one in which a rank computes as well.
bool may_compute(const Stack& stack);

/// True of a kernel function that waits for another thread or a socket.
bool may_be_builtin_wait(std::string_view kernel_wait);

/// The call of an object of C++ in which the user's code waits for ranks, by the line of its source: "work.wait()", or
/// "store.get(key)". Waits of Python's own library have frames of their own. Empty: it is none, or the kernel does not
/// wait for another thread or a socket.
std::optional<Frame> find_builtin_wait(std::string_view source_line, std::string_view kernel_wait);

/// True of a wait in which a library looks every few seconds whether its own processes live: that is no work.
bool looks_by_itself(const Stack& stack);

/// True of a main thread that serves requests, or waits for threads of its program.
bool leaves_work_to_threads(const Stack& stack);

/// The index of the thread that trains: the first one, the main thread, unless it leaves its work to others; then one that
/// waits for ranks, else of those in the user's code the one with the most CPU time.
std::size_t find_training_thread(const std::vector<Thread>& threads);

/// True in the operations by which the ranks find each other at the start.
bool is_first_meeting(const std::string& operation);

}  // namespace muster::hang
