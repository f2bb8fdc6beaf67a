#pragma once

// The controlling terminal, for the one worker that may use it.

#include "environment/snapshot.hpp"

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <map>
#include <optional>
#include <set>
#include <string>

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

/// On a terminal, a single worker is its foreground group: Ctrl-C, Ctrl-Z and a debugger's prompt
/// work as if muster were not there.
class Terminal {
 public:
  /// `guard` is the process that the shell started. Without `is_wanted`, or when that process is
  /// not in the foreground, nobody is given a terminal.
  Terminal(pid_t guard, bool is_wanted);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() { give_back(); }

  /// Gives the terminal back to the guard's group, if nobody living has it. It is not ours any more.
  void give_back();

  [[nodiscard]] bool is_ours() const { return fd_ >= 0; }
  /// The worker may use it, now or once the shell puts the job in the foreground.
  [[nodiscard]] bool is_wanted() const { return is_wanted_; }
  /// The descriptor to give a worker at its start; -1 if there is none.
  [[nodiscard]] int fd() const { return fd_; }

  /// The worker was stopped from the terminal: the shell waits for the guard, so that stops too.
  void stop_guard() const;
  /// The job goes on: if the shell has put the guard in the foreground, it means the worker.
  void lend_again(pid_t worker);

 private:
  pid_t guard_;
  pid_t guard_group_;
  bool is_wanted_;
  int fd_ = -1;
};

/// Puts `group` in the foreground if the group that is there has no living process. Otherwise the
/// terminal belongs to somebody who works with it, such as the shell.
void take_terminal_from_exited(int fd, pid_t group);

/// A mark that no other job has: 16 hexadecimal digits.
[[nodiscard]] std::string make_marker();

/// The value of the marker variable for a process of the job: behind an outer muster's, ours is added.
[[nodiscard]] std::string add_marker(const std::map<std::string, std::string>& variables, const std::string& marker);

}  // namespace muster
