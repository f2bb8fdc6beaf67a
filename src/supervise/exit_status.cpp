// Decodes wait statuses, names signals, and reads which signals stop the job.
#include "supervise/exit_status.hpp"

#include "base/signals.hpp"
#include "base/text.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
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
         (description != nullptr ? " (" + std::string(description) + ")" : "") + (dumped_core_ ? ", core dumped" : "");
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

// Signals that stop the job. Pure.

namespace {

constexpr auto kAlways = std::to_array({SIGTERM, SIGINT, SIGHUP, SIGQUIT});

/// Signals that are no requests: they arrive for other reasons, or cannot be caught.
constexpr auto kNoRequests =
    std::to_array({SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGXFSZ});

}  // namespace

StopSignals::StopSignals() : asked_for_(kAlways.begin(), kAlways.end()), all_(kAlways.begin(), kAlways.end()) {}

Result<StopSignals> StopSignals::read(const std::optional<Sourced<std::string>>& given) {
  StopSignals signals;
  if (!given) {
    return signals;
  }
  const auto names = split(given->value, ',');
  const Error no_names = wrong_value(*given, "names of signals separated by commas, such as SIGUSR1,SIGUSR2");
  if (names.empty()) {
    return no_names;
  }
  signals.asked_for_.clear();
  signals.is_given_ = true;
  for (const std::string& name : names) {
    const auto signal = parse_signal(trim(name));
    if (!signal) {
      return no_names;
    }
    if (std::find(kNoRequests.begin(), kNoRequests.end(), *signal) != kNoRequests.end()) {
      return wrong_value(*given, "signals that can ask for an end, not " + signal_name(*signal));
    }
    signals.asked_for_.push_back(*signal);
    signals.all_.insert(*signal);
  }
  return signals;
}

bool StopSignals::make_notice(int signal) {
  const bool is_named = is_given_ && std::find(asked_for_.begin(), asked_for_.end(), signal) != asked_for_.end();
  if (!is_named) {
    all_.erase(signal);
  }
  return !is_named;
}

std::string StopSignals::to_text() const {
  std::vector<std::string> names;
  for (const int signal : asked_for_) {
    names.push_back(signal_name(signal));
  }
  return join(names, ",");
}

}  // namespace muster
