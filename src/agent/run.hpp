#pragma once

// Runs a job's workers on this node.

#include "run/run_context.hpp"

#include <map>
#include <string>

namespace muster {

/// Runs this node's workers to their end, then ends the process with the program's exit code; returns only if the job
/// could not begin. Splits the process into guard and agent (docs/processes.md). `variables`: the inherited
/// environment.
[[nodiscard]] Result<int> run(const JobPlan& job, const RunOptions& options, const Inherited& inherited,
                              const std::map<std::string, std::string>& variables, const ExitReport& exit_report);

/// Checks before the start that the files of --events, --trace and --metrics can be written. Fails with the option's
/// name.
[[nodiscard]] Result<> check_record(const RunOptions& options);

}  // namespace muster
