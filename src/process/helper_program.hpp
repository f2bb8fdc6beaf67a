#pragma once

// Runs another program from within a helper process, whose end ends the program too.

#include "base/file_io.hpp"
#include "base/result.hpp"
#include "process/rights.hpp"

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster {

/// A running program that reads nothing. To be used in a helper process.
class HelperProgram {
 public:
  using Clock = std::chrono::steady_clock;

  /// `command`: the program's path and its arguments. `rights`: those that it gets; empty: ours. A program that cannot
  /// be run says nothing.
  [[nodiscard]] static Result<HelperProgram> start(const std::vector<std::string>& command,
                                                   const std::optional<Rights>& rights);

  /// Waits for all output and errors, and ends the program. Empty: it has said more than 4 MiB, or has not ended by
  /// `end`.
  [[nodiscard]] std::optional<std::string> finish(Clock::time_point end);

  /// Ends what programs of this helper process have started and left behind, also in sessions of their own. To be called
  /// when none of them runs any more.
  static void end_orphans();

 private:
  HelperProgram(pid_t pid, UniqueFd said) : pid_(pid), said_(std::move(said)) {}

  pid_t pid_;
  UniqueFd said_;
};

}  // namespace muster
