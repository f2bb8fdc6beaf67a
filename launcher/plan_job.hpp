#pragma once

// Makes the plan of a job from the command line and the environment. Used by `plan`, `explain` and a run.

#include "gang/gang_config.hpp"
#include "plan/launch_plan.hpp"
#include "platforms/cluster.hpp"
#include "requests.hpp"
#include "run/run_context.hpp"

#include <optional>

namespace muster {

/// Plan of the job, as far as it is known before the nodes have met.
struct Planned {
  LaunchPlan plan;
  std::optional<PlanInput> input;  ///< input of the plan; empty: a worker of another launcher
  std::string nested_notice{};     ///< the remark about a program that starts processes itself
  std::string log_dir{};           ///< the mode's log directory if the user names none; empty: none
  CacheOptions caches{};           ///< with the folder on this node
  /// Reason why a run would be refused, although the plan can be shown, such as a missing rank table.
  std::optional<Error> refusal{};
};

/// Decides the placement and the processes of the job.
[[nodiscard]] Result<Planned> plan_job(const CommandLine& line, const Options& options, const Snapshot& snapshot);

/// Makes the folder if it is missing. Fails if no file can be created in it.
[[nodiscard]] Result<> make_log_dir(const Sourced<std::string>& folder);

}  // namespace muster
