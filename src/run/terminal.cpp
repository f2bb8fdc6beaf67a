// Job control: see setpgid(2), tcsetpgrp(3) and credentials(7). SIGTTOU is blocked in the agent, so
// it may change the foreground group from the background.
#include "terminal.hpp"

#include <unistd.h>

#include <csignal>

namespace muster {

Terminal::Terminal(pid_t guard, bool is_wanted) : guard_(guard) {
  const bool is_foreground =
      is_wanted && ::isatty(STDIN_FILENO) != 0 && ::tcgetpgrp(STDIN_FILENO) == ::getpgid(guard);
  fd_ = is_foreground ? STDIN_FILENO : -1;
}

Terminal::~Terminal() {
  if (is_ours()) {
    (void)::tcsetpgrp(fd_, ::getpgid(guard_));  // gone: nobody is left to read from it
  }
}

void Terminal::stop_guard() const {
  (void)::kill(guard_, SIGSTOP);
}

void Terminal::lend_again(pid_t worker) const {
  if (is_ours() && ::tcgetpgrp(fd_) == ::getpgid(guard_)) {
    (void)::tcsetpgrp(fd_, worker);
  }
}

}  // namespace muster
