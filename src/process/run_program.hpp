#pragma once

// Runs a program that is no worker to its end: a probe, py-spy, a command of the batch system or of the user.

#include "base/result.hpp"
#include "process/inherited.hpp"
#include "process/rights.hpp"
#include "supervise/exit_status.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

struct ProgramRequest {
  std::vector<std::string> command;                ///< the program's path and its arguments
  std::chrono::steady_clock::time_point end{};     ///< when the program is killed
  const Inherited* inherited = nullptr;            ///< signals and limits that it gets back; null: it keeps ours
  std::map<std::string, std::string> variables{};  ///< empty: ours
  std::optional<Rights> rights{};                  ///< rights that it runs with; empty: ours
  int lifeline = -1;                  ///< the end of a pipe: the program is killed when the other end is closed
  std::chrono::milliseconds grace{};  ///< between SIGTERM and SIGKILL after `end`; 0: SIGKILL at once
  bool awaits_writers = true;         ///< also wait for processes that it leaves behind and that hold its output
};

/// Limit of `ProgramAnswer::rest` in bytes.
inline constexpr std::size_t kMostRest = 4'096;

struct ProgramAnswer {
  enum class End {
    ByItself,
    TooLate,
    Cancelled  ///< by `lifeline`
  };
  End end = End::ByItself;
  ExitStatus status = ExitStatus::exited(0);
  std::string said{};  ///< output and errors, at most 4 MiB
  std::string rest{};  ///< if there is more output, its last `kMostRest` bytes or more
};

/// Runs a program, in a session of its own and with /dev/null as its input, until it has ended and, with
/// `awaits_writers`, until nobody writes to its output any more. Kills its process group after `end`. With the rights
/// of another process it gets neither our variables nor our folder, which may be secret. Blocks the caller; the
/// program dies with the caller. Fails if it cannot be started.
[[nodiscard]] Result<ProgramAnswer> run_program(const ProgramRequest& request);

}  // namespace muster
