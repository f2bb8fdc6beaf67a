#pragma once

// The end of the allocation that this process is in, as batch systems tell it.

#include "environment/snapshot.hpp"

#include <chrono>
#include <optional>
#include <string_view>

namespace muster {

/// Reads the line of `flux job timeleft`: whole seconds. Empty: something else, or there is no limit.
[[nodiscard]] std::optional<std::chrono::seconds> parse_flux_time_left(std::string_view text);

/// Reads the line of `bjobs -noheader -o time_left`: "hours:minutes L" where a limit ends the job. E and X are the user's
/// estimate, at which nothing ends (bjobs(1), -WL).
[[nodiscard]] std::optional<std::chrono::seconds> parse_lsf_time_left(std::string_view text);

/// Slurm says it in a variable. Flux and LSF have a command for it, which is given 4 seconds and run where `may_ask`
/// only. Empty: there is no such system, no limit, or no answer.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point> find_allocation_end(
    const Snapshot& snapshot, bool may_ask);

}  // namespace muster
