// Job control: see setpgid(2), tcsetpgrp(3) and credentials(7). SIGTTOU is blocked in the agent, so
// it may change the foreground group from the background.
#include "process/terminal.hpp"

#include "process/inherited.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace muster {

Terminal::Terminal(pid_t guard, bool is_wanted)
    : guard_(guard),
      guard_group_(::getpgid(guard)),
      is_wanted_(is_wanted && is_terminal(STDIN_FILENO)) {
  fd_ = is_wanted_ && ::tcgetpgrp(STDIN_FILENO) == guard_group_ ? STDIN_FILENO : -1;
}

void Terminal::give_back() {
  if (is_ours()) {
    take_terminal_from_exited(fd_, guard_group_);
    fd_ = -1;
  }
}

void take_terminal_from_exited(int fd, pid_t group) {
  const pid_t foreground = ::tcgetpgrp(fd);
  // Sent to the background with `bg`, the job has no terminal to give: the shell has it.
  if (foreground > 0 && ::kill(-foreground, 0) != 0 && errno == ESRCH) {
    (void)::tcsetpgrp(fd, group);
  }
}

void Terminal::stop_guard() const {
  if (::getppid() == guard_) {  // gone, its number may be somebody else's
    (void)::kill(guard_, SIGSTOP);
  }
}

void Terminal::lend_again(pid_t worker) {
  if (is_wanted_ && ::tcgetpgrp(STDIN_FILENO) == guard_group_) {
    fd_ = STDIN_FILENO;
    (void)::tcsetpgrp(fd_, worker);
  }
}

}  // namespace muster
