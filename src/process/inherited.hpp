#pragma once

// Changes inherited signals, descriptors and the terminal for muster, and restores them for workers.

#include "environment/snapshot.hpp"

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace muster {

/// Inherited settings that muster changes for itself: restored for each worker.
struct Inherited {
  sigset_t signal_mask{};
  /// Signals among HUP, INT and QUIT that were ignored at the start (nohup, a shell's background job): they stay so.
  std::set<int> ignored_signals;
  bool is_child_signal_ignored = false;  ///< SIGCHLD, which muster itself needs
  bool is_pipe_signal_ignored = false;   ///< SIGPIPE, likewise
  std::optional<rlimit> descriptors;     ///< the limit, if muster has raised it
};

/// To be called first. Blocks every signal that muster handles, so that none is lost or kills it (also as a
/// container's init); opens descriptors 0 to 2 if closed, keeps other inherited ones from workers, and raises the
/// descriptor limit.
Inherited setup_process();

/// Fails if the stack may not grow as far as muster needs (`ulimit -s`). The limit stays as it is: workers inherit it.
/// To be called before a function whose own frame is large.
[[nodiscard]] Result<void> check_stack_limit();

/// Lets workers inherit this socket as an exception. Does nothing for other descriptors.
void pass_to_worker(int descriptor);

/// Restores ignored signals, in a process that will execute another program.
void restore_ignored_signals(const Inherited& inherited);

/// Restores the inherited signal mask, so that signals end a command that starts nothing.
void release_signals(const Inherited& inherited);

/// Lets stop signals (TERM, INT, HUP, QUIT) end this process like any program, until `take_over_signals`: reading the
/// input may hang, before anything is made or started. Not in a container's init, which they would not end: it
/// handles them afterwards.
void die_on_stop_signals(const Inherited& inherited);

/// True if descriptor 0, 1 or 2 was closed, and is /dev/null now.
bool was_closed(int standard_fd);

enum class StreamKind {
  Terminal,
  File,  ///< on a file system, or a block device: a call may hang
  Other  ///< a pipe, a socket, a device such as /dev/null, or closed
};

/// The kind of descriptor 0, 1 or 2. Asks the kernel once, since a file system may hang later.
StreamKind kind_of_stream(int standard_fd);
/// Determines the kind of all three; may hang.
void probe_streams();
bool is_terminal(int standard_fd);

/// The signals that muster handles or forwards: the usual ones and `more`.
sigset_t handled_signals(const std::set<int>& more = {});

/// Blocks the handled signals and `more`. Signals that arrived before are not handled.
void take_over_signals(const std::set<int>& more = {});

/// Makes a single worker the terminal's foreground group: Ctrl-C, Ctrl-Z and a debugger's prompt work as without
/// muster.
class Terminal {
 public:
  /// `guard` is the process that the shell started. If it is not in the foreground, or without `is_wanted`, no worker
  /// gets the terminal.
  Terminal(pid_t guard, bool is_wanted);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() { give_back(); }

  /// Gives the terminal back to the guard's group, unless a living process has it. `is_ours` is false afterwards.
  void give_back();

  bool is_ours() const { return fd_ >= 0; }
  /// True if the worker may use it, now or once the shell puts the job in the foreground.
  bool is_wanted() const { return is_wanted_; }
  /// The descriptor for a worker at its start; -1: none.
  int fd() const { return fd_; }

  /// Stops the guard with a worker that was stopped from the terminal, because the shell waits for the guard.
  void send_sigstop_to_guard() const;
  /// After SIGCONT: if the shell has put the guard in the foreground, the worker gets the terminal.
  void lend_again(pid_t worker);

 private:
  pid_t guard_;
  pid_t guard_group_;
  bool is_wanted_;
  int fd_ = -1;
};

/// Puts `group` in the foreground if the present foreground group has no living process. Otherwise another process
/// works with the terminal, such as the shell.
void take_terminal_from_exited(int fd, pid_t group);

/// A marker that no other job has: 16 hexadecimal digits.
[[nodiscard]] Result<std::string> make_marker();

/// Value of the marker variable for the job's processes: ours, appended to that of an outer muster.
std::string add_marker(const std::map<std::string, std::string>& variables, const std::string& marker);

}  // namespace muster
