#pragma once

#include <sys/resource.h>

#include <csignal>
#include <optional>
#include <set>

namespace muster {

/// What this process inherited and changes for itself: given back to each worker.
struct Inherited {
  sigset_t signal_mask{};
  /// Of HUP, INT and QUIT, those that were ignored when muster started (nohup, a shell's
  /// background job): they stay without effect.
  std::set<int> ignored_signals;
  bool is_child_signal_ignored = false;  ///< SIGCHLD; muster itself needs it
  bool is_pipe_signal_ignored = false;   ///< SIGPIPE; the same
  std::optional<rlimit> descriptors;     ///< the limit, where muster has raised it
};

/// Call this before anything else. Blocks every signal that muster handles, so that none is lost
/// or kills it (as the first process of a container, too); makes sure that descriptors 0 to 2 are
/// open and that no other inherited one reaches a worker; raises the limit of descriptors.
[[nodiscard]] Inherited setup_process();

/// The exception: an inherited socket that the worker is to have, too. Does nothing for anything else.
void pass_to_worker(int descriptor);

/// Ignores again what muster needs for itself: in what becomes another program.
void restore_ignored_signals(const Inherited& inherited);

/// Gives the inherited signal mask back, for a command that starts nothing: signals end it.
void release_signals(const Inherited& inherited);

/// Lets a request to end (TERM, INT, HUP, QUIT) end this process as it ends any program, until `take_over_signals`. For
/// the reading of what it was given, which may hang, before anything is made or started. Not in the first process
/// of a container, which they would not end: there they are heard afterwards.
void die_on_stop_signals(const Inherited& inherited);

/// True when descriptor 0, 1 or 2 was closed and is /dev/null now.
[[nodiscard]] bool was_closed(int standard_fd);

enum class StreamKind {
  Terminal,
  File,  ///< of a file system, or a block device: a call may hang
  Other  ///< a pipe, a socket, a device such as /dev/null, or closed
};

/// The kind of descriptor 0, 1 or 2. The kernel is asked once, since a file system may stop answering while the job runs.
[[nodiscard]] StreamKind kind_of_stream(int standard_fd);
/// Asks for all three, and may hang.
void probe_streams();
[[nodiscard]] bool is_terminal(int standard_fd);

/// The signals that muster acts on or passes on: those that it always handles, and `more`.
[[nodiscard]] sigset_t handled_signals(const std::set<int>& more = {});

/// Blocks the handled signals, those that an option names as well. What arrives before is not handled.
void take_over_signals(const std::set<int>& more = {});

}  // namespace muster
