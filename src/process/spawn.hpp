#pragma once

// Starts one process, finds executables, and makes the pipes and ptys of its output.

#include "base/file_io.hpp"
#include "base/result.hpp"
#include "base/when.hpp"
#include "process/inherited.hpp"

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// A process ready to be started: everything is resolved, so that the child only makes system calls.
struct SpawnRequest {
  std::string executable;  ///< path of the file
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< "NAME=value"
  std::string working_directory;         ///< empty: ours
  int standard_input = -1;               ///< descriptors of ours; the child gets copies
  int standard_output = -1;
  int standard_error = -1;
  int passed = -1;                ///< another descriptor of ours, which the child has under the same number; -1: none
  bool leads_session = false;     ///< a new one, without a terminal; otherwise ours
  int terminal = -1;              ///< if given, the child's group becomes its foreground group
  std::vector<int> cpus;          ///< the only ones it may use; empty: ours
  std::vector<int> memory_nodes;  ///< its memory nodes; empty: our policy
  bool is_memory_strict = false;  ///< false: other nodes are used when these are full
};

struct Spawned {
  pid_t pid = -1;
  UniqueFd pidfd;          ///< empty without kernel support, or without a free descriptor
  int memory_refusal = 0;  ///< errno of binding memory; 0: bound as asked
};

/// Starts processes at the cost of posix_spawn: the child shares our memory until it calls execve, so nothing is
/// copied however large we are.
///
/// posix_spawn cannot set the parent-death signal. The vfork launcher of Boost.Process 1.81 notifies the io_context
/// in the child, which closes the parent's epoll descriptor through the shared memory, and allocates between fork and
/// exec: hence clone(2).
///
/// Only one thread may spawn, and it must live as long as the process: the parent-death signal is sent when the
/// *thread* that spawned ends.
class Spawner {
 public:
  explicit Spawner(const Inherited& inherited);

  /// Each child leads a process group or session of its own, dies when we die if the kernel allows it, and has our
  /// inherited signal mask and descriptor limit. Fails with `NotFound`, `NotExecutable` or `System` and names the
  /// failed step; the child is reaped then.
  [[nodiscard]] Result<Spawned> spawn(const SpawnRequest& request);

 private:
  static constexpr std::size_t kStackBytes = std::size_t{64} << 10U;

  Inherited inherited_;
  std::unique_ptr<std::byte[]> stack_;  ///< of the child; one is enough, since we sleep until it calls execve
};

/// "NAME=value"
inline std::string environment_entry(const std::string& name, const std::string& value) {
  return name + "=" + value;
}

std::vector<std::string> environment_entries(const std::map<std::string, std::string>& variables);

/// The texts as execve(2) takes them; the last pointer is null.
std::vector<char*> pointers(const std::vector<std::string>& texts);

/// Finds the file that a shell would execute for `name`: a path if it has a slash, else searched in `search_path`.
/// Fails with `NotFound` or `NotExecutable`.
[[nodiscard]] Result<std::string> find_executable(const std::string& name, const std::string& search_path);

/// The interpreter in the file's first line, "/usr/bin/env" of "#!/usr/bin/env python3"; empty: not a script, or not
/// readable. Reads no more of the file than the kernel does.
std::string interpreter_of(const std::string& path);

/// Fails if a Python script cannot be read: its interpreter would start in vain.
[[nodiscard]] Result<> check_script(const std::string& path);

// The choice of pipes and ptys for a worker's output.

/// The files that one stream of a worker is written to.
enum class StreamFile {
  None,
  Joined,  ///< one file for both streams of the worker
  Own      ///< a file for this stream, or for some of its lines
};

/// The destination of one stream of a worker.
struct StreamTarget {
  std::optional<int> console{};  ///< our descriptor; equal for both streams if both are one file
  bool is_terminal = false;      ///< true for a console on a terminal
  StreamFile file = StreamFile::None;
  bool operator==(const StreamTarget&) const = default;
};

/// A pipe or pty for each stream of a worker.
struct OutputConnection {
  /// True: both streams come through one, that of standard error, in the order in which they were written.
  bool is_joined = false;
  bool out_is_terminal = false;
  bool error_is_terminal = false;
  bool operator==(const OutputConnection&) const = default;
};

/// Joins the streams if their lines need not be told apart, because both are shown at one place or written to one
/// file only. With When::Auto, a pty is used for a stream shown on a terminal and kept in no file.
OutputConnection choose_connection(const StreamTarget& out, const StreamTarget& error, When terminals);

// The pipes and ptys of a worker's output.

/// The ends of one side. `out` is empty if both streams are joined in `error`.
struct StreamEnds {
  UniqueFd out;
  UniqueFd error;
};

struct OutputEnds {
  StreamEnds ours;                 ///< to read from
  StreamEnds workers;              ///< to be closed here after the worker has copies
  std::optional<Error> refusal{};  ///< why a pipe was made instead of a pty
};

/// Makes the ends: all close-on-exec, and no pty becomes our controlling terminal. A pty does not change bytes, and
/// does not echo. Fails with `System` without free descriptors.
[[nodiscard]] Result<OutputEnds> make_output_ends(const OutputConnection& streams);

/// Makes the worker's ends the request's standard output and error. Keep them open until the worker has started.
void give_ends(SpawnRequest& request, const StreamEnds& workers);

}  // namespace muster
