#pragma once

// muster as the front of a job: starts its agents on other hosts.

#include "requests.hpp"

#include "remote/fan_out.hpp"
#include "process/inherited.hpp"

namespace muster {

/// True when the user lists hosts for muster to start agents on.
[[nodiscard]] bool lists_hosts(const CommandLine& line);

/// Decides who is started where. Reads the list of hosts and the token file. Fails where two settings
/// contradict each other, or where the platform starts muster on each node already.
[[nodiscard]] Result<FanOut> plan_fan_out(const CommandLine& line,
                                          const Options& options,
                                          const Snapshot& snapshot);

/// Runs the job to its end, and returns its exit code.
[[nodiscard]] Result<int> start_fan_out(const FanOut& fan_out,
                                        const Options& options,
                                        const Inherited& inherited,
                                        const Snapshot& snapshot);

}  // namespace muster
