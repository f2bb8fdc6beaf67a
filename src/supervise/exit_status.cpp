// Decodes wait statuses and names signals.
#include "supervise/exit_status.hpp"

#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace muster {

ExitStatus ExitStatus::from_wait_status(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    return signalled(WTERMSIG(wait_status), WCOREDUMP(wait_status));
  }
  return exited(WEXITSTATUS(wait_status));
}

std::string ExitStatus::describe() const {
  if (!signal_) {
    return "exit code " + std::to_string(code_);
  }
  const char* const description = sigdescr_np(*signal_);
  const std::string name = signal_name(*signal_);
  return (name.starts_with("SIG") ? "signal " + name : name) +
         (description != nullptr ? " (" + std::string(description) + ")" : "") +
         (dumped_core_ ? ", core dumped" : "");
}

std::string signal_name(int signal) {
  if (const char* const name = sigabbrev_np(signal)) {
    return "SIG" + std::string(name);
  }
  if (signal >= SIGRTMIN && signal <= SIGRTMAX) {
    return "SIGRTMIN+" + std::to_string(signal - SIGRTMIN);
  }
  return "signal " + std::to_string(signal);
}

}  // namespace muster
