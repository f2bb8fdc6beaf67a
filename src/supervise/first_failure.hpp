#pragma once

// Chooses the first failure among those that are too close to each other to be ordered by time. Pure.

#include "supervise/exit_status.hpp"
#include "supervise/job_end.hpp"

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Exits closer to each other than this have no reliable order: a worker that is about to crash waits for a core
/// while another one exits. docs/processes.md has the measurements.
inline constexpr std::chrono::milliseconds kOrderWindow{10};

/// An error that a process wrote longer than this before its end did not end it.
inline constexpr std::chrono::seconds kErrorBeforeEnd{2};

/// Kinds of failures by their look, which tells a cause from a consequence; the likeliest cause first.
enum class FailureKind {
  Crash,      ///< ended by a signal, or never started
  Traceback,  ///< an exit code, and the output shows an error of its own
  ExitCode,   ///< an exit code, and the output shows no reason
  LostPeer,   ///< the output says that a peer was gone
};

/// Classifies by status, error file and last lines, with the patterns of failure_patterns.txt.
FailureKind classify(const Failure& failure);
/// A clause that follows "because": "a signal ended it".
std::string_view describe(FailureKind trace);

/// True if a process that was asked to end shows an error of its own in its last lines, and not only a lost peer.
bool shows_own_error(const std::vector<std::string>& last_lines);

/// True for a status that shows a cause: no failure of a peer makes a process end in this way.
bool is_crash(const ExitStatus& status);

/// Index of the likeliest cause among failures that have no order; of several equal ones the one that wrote its error
/// first, or the first in the list. There must be at least one.
std::size_t most_likely_first(std::span<const Failure> suspects);
/// Removes and returns the likeliest cause. If several are as likely, only `wrote_first` may tell which was first.
Failure take_most_likely(std::vector<Failure>& suspects);

/// If `first` shows only that a peer was gone, swaps it with the first of `others` that was asked to end, but had
/// written an error of its own that names no other rank. If a signal of muster ended that one, it takes over the exit
/// code of `first`.
void prefer_own_error(Failure& first, OtherFailures& others);

}  // namespace muster
