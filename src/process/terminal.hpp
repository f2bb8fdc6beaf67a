#pragma once

// The controlling terminal, for the one worker that may use it. Private to run/.

#include <sys/types.h>

namespace muster {

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

}  // namespace muster
