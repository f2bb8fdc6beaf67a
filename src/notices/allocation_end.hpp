#pragma once

// The end of the allocation that this process runs in, from the batch system.

#include "environment/snapshot.hpp"

#include <chrono>
#include <optional>
#include <string_view>

namespace muster {

/// Reads the line of `flux job timeleft`: whole seconds. Empty for any other text, or without a limit.
std::optional<std::chrono::seconds> parse_flux_time_left(std::string_view text);

/// Reads the line of `bjobs -noheader -o time_left`: "hours:minutes L" if a limit ends the job. E and X mark the
/// user's estimate, at which nothing ends (bjobs(1), -WL).
std::optional<std::chrono::seconds> parse_lsf_time_left(std::string_view text);

/// Finds the end of the allocation. Slurm has it in a variable; Flux and LSF need a command, which is run only if
/// `may_ask`, for at most 4 seconds. Empty: no such system, no limit, or no answer.
std::optional<std::chrono::system_clock::time_point> find_allocation_end(const Snapshot& snapshot, bool may_ask);

}  // namespace muster
