#pragma once

#include "base/result.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// How a process ended, decoded once from the kernel's words.
class ExitStatus {
 public:
  /// `wait_status` is what waitpid(2) filled in for a child that has ended.
  [[nodiscard]] static ExitStatus from_wait_status(int wait_status);
  [[nodiscard]] static ExitStatus exited(int code) { return ExitStatus(code, std::nullopt, false); }
  [[nodiscard]] static ExitStatus signalled(int signal, bool dumped_core = false) {
    return ExitStatus(0, signal, dumped_core);
  }

  [[nodiscard]] bool ok() const { return !signal_ && code_ == 0; }
  /// The exit code; empty when a signal ended the process.
  [[nodiscard]] std::optional<int> code() const { return signal_ ? std::nullopt : std::optional(code_); }
  [[nodiscard]] std::optional<int> signal() const { return signal_; }
  [[nodiscard]] bool dumped_core() const { return dumped_core_; }

  /// The code a shell would report: the exit code, or 128 plus the signal's number.
  [[nodiscard]] int shell_code() const { return signal_ ? 128 + *signal_ : code_; }

  /// "exit code 3" or "signal SIGSEGV (Segmentation fault), core dumped".
  [[nodiscard]] std::string describe() const;

  bool operator==(const ExitStatus&) const = default;

 private:
  ExitStatus(int code, std::optional<int> signal, bool dumped_core)
      : code_(code), signal_(signal), dumped_core_(dumped_core) {}

  int code_ = 0;
  std::optional<int> signal_;
  bool dumped_core_ = false;
};

/// "SIGTERM", "SIGRTMIN+3"; "signal 77" for a number that has no name.
[[nodiscard]] std::string signal_name(int signal);

/// The signals that ask the job to end. TERM, INT, HUP and QUIT always do: without being asked for,
/// they would end muster alone.
class StopSignals {
 public:
  /// Reads --signals-to-handle: names such as "SIGUSR1,SIGUSR2", with or without SIG. Fails for a name
  /// that is unknown, and for a signal that cannot be a request.
  [[nodiscard]] static Result<StopSignals> read(const std::optional<Sourced<std::string>>& given);

  /// A signal that is a notice asks for no end. False where the user has named it as one that does.
  [[nodiscard]] bool make_notice(int signal);

  [[nodiscard]] bool contains(int signal) const { return all_.contains(signal); }
  [[nodiscard]] const std::set<int>& all() const { return all_; }
  /// What was asked for, as torchrun's workers find it: "SIGUSR1,SIGUSR2".
  [[nodiscard]] std::string to_text() const;

  StopSignals();

 private:
  std::vector<int> asked_for_;  ///< in the order in which they were given
  std::set<int> all_;
  bool is_given_ = false;  ///< `asked_for_` is what the user said
};

}  // namespace muster
