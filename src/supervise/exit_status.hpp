#pragma once

// Decodes wait statuses, names signals, and reads which signals stop the job. Pure.

#include "base/result.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// The exit status of a process, decoded from a wait status.
class ExitStatus {
 public:
  /// `wait_status` is the status from waitpid(2) for a child that has ended.
  static ExitStatus from_wait_status(int wait_status);
  static ExitStatus exited(int code) { return ExitStatus(code, std::nullopt, false); }
  static ExitStatus signalled(int signal, bool dumped_core = false) { return ExitStatus(0, signal, dumped_core); }

  bool ok() const { return !signal_ && code_ == 0; }
  /// The exit code; empty when a signal ended the process.
  std::optional<int> code() const { return signal_ ? std::nullopt : std::optional(code_); }
  std::optional<int> signal() const { return signal_; }
  bool dumped_core() const { return dumped_core_; }

  /// The code that a shell would report: the exit code, or 128 plus the signal's number.
  int shell_code() const { return signal_ ? 128 + *signal_ : code_; }

  /// "exit code 3" or "signal SIGSEGV (Segmentation fault), core dumped".
  std::string describe() const;

  bool operator==(const ExitStatus&) const = default;

 private:
  ExitStatus(int code, std::optional<int> signal, bool dumped_core)
      : code_(code), signal_(signal), dumped_core_(dumped_core) {}

  int code_ = 0;
  std::optional<int> signal_;
  bool dumped_core_ = false;
};

/// "SIGTERM", "SIGRTMIN+3"; "signal 77" for an unnamed number.
std::string signal_name(int signal);

/// The signals that stop the job. TERM, INT, HUP and QUIT always do, because their default action would end muster
/// alone.
class StopSignals {
 public:
  /// Reads --signals-to-handle: names such as "SIGUSR1,SIGUSR2", with or without SIG. Fails for an unknown name, and
  /// for a signal that cannot be a request.
  [[nodiscard]] static Result<StopSignals> read(const std::optional<Sourced<std::string>>& given);

  /// Removes a signal that is a notice, which stops nothing. False when the user has named it as a stop signal.
  bool make_notice(int signal);

  bool contains(int signal) const { return all_.contains(signal); }
  const std::set<int>& all() const { return all_; }
  /// The list of names as torchrun's workers get it: "SIGUSR1,SIGUSR2".
  std::string to_text() const;

  StopSignals();

 private:
  std::vector<int> asked_for_;  ///< stop signals that the user named, in the order of the list
  std::set<int> all_;
  bool is_given_ = false;  ///< the user has given `asked_for_`
};

}  // namespace muster
