#pragma once

// Starts one process.

#include "agent/run.hpp"
#include "base/file_io.hpp"
#include "base/result.hpp"
#include "process/inherited.hpp"

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// A process that is ready to be executed: everything is resolved, the child only makes calls.
struct SpawnRequest {
  std::string executable;  ///< path of the file
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< "NAME=value"
  std::string working_directory;         ///< empty: ours
  int standard_input = -1;               ///< descriptors of ours; the child gets copies
  int standard_output = -1;
  int standard_error = -1;
  bool leads_session = false;     ///< of its own, without a terminal; else it stays in ours
  int terminal = -1;              ///< if given, the child's group becomes its foreground group
  std::vector<int> cpus;          ///< the only ones it may use; empty: ours
  std::vector<int> memory_nodes;  ///< where its memory is; empty: our policy
  bool is_memory_strict = false;  ///< false: other nodes help out when these are full
};

struct Spawned {
  pid_t pid = -1;
  UniqueFd pidfd;          ///< empty where the kernel has none, or no descriptor is free
  int memory_refusal = 0;  ///< why it runs on other memory nodes than asked for, as errno
};

/// Starts processes at the cost of posix_spawn: the child shares our memory until it executes, so
/// nothing is copied however large we are.
///
/// posix_spawn itself cannot arm the parent-death signal, and the vfork launcher of Boost.Process
/// 1.81 tells the io_context in the child, which closes the parent's epoll descriptor through the
/// shared memory, and allocates between fork and exec: hence clone(2) by hand.
///
/// Only one thread may spawn, and it must live as long as the process: the parent-death signal
/// fires when the *thread* that spawned ends.
class Spawner {
 public:
  explicit Spawner(const Inherited& inherited);

  /// Each child is the leader of a process group of its own, or of a session, dies when we die if it can, and has our
  /// inherited signal mask and limit of descriptors. Fails with `NotFound`, `NotExecutable` or
  /// `System`, and names the step that failed; such a child has been reaped.
  [[nodiscard]] Result<Spawned> spawn(const SpawnRequest& request);

 private:
  static constexpr std::size_t kStackBytes = std::size_t{64} << 10U;

  Inherited inherited_;
  std::unique_ptr<std::byte[]> stack_;  ///< the child's; one is enough, we wait until it executes
};

/// "NAME=value"
[[nodiscard]] inline std::string environment_entry(const std::string& name, const std::string& value) {
  return name + "=" + value;
}

/// Finds the file that a shell would execute for `name`: with a slash it is a path, without one the
/// folders of `search_path` are tried. Fails with `NotFound` or `NotExecutable`.
[[nodiscard]] Result<std::string> find_executable(const std::string& name, const std::string& search_path);

/// The interpreter that the file's first line names, "/usr/bin/env" of "#!/usr/bin/env python3"; empty: it is no script, or cannot be
/// read. Reads no more of the file than the kernel does.
[[nodiscard]] std::string interpreter_of(const std::string& path);

/// Fails when a Python script cannot be read; the interpreter would start for nothing.
[[nodiscard]] Result<> check_script(const std::string& path);

// How what a worker writes comes to us. Decided before anything is made.

/// Which files one stream of a worker goes to.
enum class StreamFile {
  None,
  Joined,  ///< one that takes both streams of the worker
  Own      ///< one that takes only this stream, or only lines of it
};

/// Where one stream of a worker goes.
struct StreamTarget {
  std::optional<int> console{};  ///< our descriptor; the same for both streams where both are one file
  bool is_terminal = false;      ///< the console is one
  StreamFile file = StreamFile::None;
  bool operator==(const StreamTarget&) const = default;
};

/// What is made for the streams of one worker: a pipe or a pseudo-terminal each.
struct OutputConnection {
  /// Both come through one, that of standard error: in the order in which they were written.
  bool is_joined = false;
  bool out_is_terminal = false;
  bool error_is_terminal = false;
  bool operator==(const OutputConnection&) const = default;
};

/// Joined where nobody needs to know which of the two a line was written to: both are shown at one place, or only
/// written to one file. A terminal, unless `terminals` decides, where the stream is shown on one and kept in no file.
[[nodiscard]] OutputConnection choose_output_way(const StreamTarget& out, const StreamTarget& error, When terminals);

// What a worker writes into, and what we read it from.

/// The ends of one side. `out` is empty where both streams are one, which then is `error`.
struct StreamEnds {
  UniqueFd out;
  UniqueFd error;
};

struct OutputEnds {
  StreamEnds ours;                 ///< to read from
  StreamEnds workers;              ///< to be closed here once the worker has copies
  std::optional<Error> refusal{};  ///< why a pipe was made where a terminal was wanted
};

/// All of them are close-on-exec, and no terminal becomes the one that controls us. A terminal passes bytes as they are
/// written, and echoes nothing. Fails with `System` when no descriptor is left.
[[nodiscard]] Result<OutputEnds> make_output_ends(const OutputConnection& way);

}  // namespace muster
