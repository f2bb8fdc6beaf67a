#pragma once

// Who failed first among those that ended too close to each other to be ordered by time. Pure.

#include "supervise/exit_status.hpp"
#include "supervise/job_end.hpp"

#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>

namespace muster {

/// Deaths closer to each other than this are in any order: a worker that is about to crash waits for a core
/// while another one ends. docs/processes.md has what was measured.
inline constexpr std::chrono::milliseconds kOrderWindow{10};

/// What a failure looks like, and so whether it is a reason or a consequence: the likeliest reason first.
enum class FailureKind {
  Crash,      ///< a signal ended it, or it never ran
  Traceback,  ///< an exit code, and its last words tell of an error of its own
  ExitCode,   ///< an exit code, and its last words tell nothing
  LostPeer,   ///< its last words tell that another one was gone
};

/// By its status, its error file and its last lines. What programs say is in failure_patterns.txt.
[[nodiscard]] FailureKind classify(const Failure& failure);
/// Reads behind "because": "a signal ended it".
[[nodiscard]] std::string_view describe(FailureKind trace);

/// A status that needs no comparison: nothing that happens to others ends a process so.
[[nodiscard]] bool is_crash(const ExitStatus& status);

/// The place of the likeliest reason among failures that have no order; of those that look alike the first.
/// There is at least one.
[[nodiscard]] std::size_t most_likely_first(std::span<const Failure> suspects);

}  // namespace muster
