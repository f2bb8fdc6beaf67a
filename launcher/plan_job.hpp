#pragma once

// From the command line and the surroundings to the plan: what `plan`, `explain` and a run share.

#include "options.hpp"
#include "requests.hpp"

#include "plan/launch_plan.hpp"

#include <optional>

namespace muster {

/// Who runs where with what, as far as it is known before the nodes have met.
struct Planned {
  LaunchPlan plan;
  std::optional<PlanInput> input;  ///< what it was made from; empty: a worker of another launcher
  std::string doubt{};             ///< of the plan's remarks: about a program that starts processes
  std::string log_dir{};           ///< what the mode says where the user names none; empty: nothing
  /// Why nothing would be started, of a question that is answered as far as it goes, such as a rank table that is
  /// missing.
  std::optional<Error> refusal{};
};

/// Decides who runs where.
[[nodiscard]] Result<Planned> plan_job(const CommandLine& line,
                                       const Options& options,
                                       const Snapshot& snapshot);

}  // namespace muster
