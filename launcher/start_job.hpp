#pragma once

// From the plan to the end of the job.

#include "plan_job.hpp"

#include "process/inherited.hpp"

namespace muster {

/// Runs this node's part of the job, says how it ended, and returns the program's exit code.
[[nodiscard]] Result<int> start_job(Planned planned,
                                    const Options& options,
                                    const Inherited& inherited,
                                    const Snapshot& snapshot);

}  // namespace muster
