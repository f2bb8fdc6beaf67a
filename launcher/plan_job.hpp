#pragma once

// From the command line and the surroundings to the plan: what `plan`, `explain` and a run share.

#include "agent/run.hpp"
#include "gang/gang_config.hpp"
#include "plan/launch_plan.hpp"
#include "platforms/cluster.hpp"
#include "requests.hpp"

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
[[nodiscard]] Result<Planned> plan_job(const CommandLine& line, const Options& options, const Snapshot& snapshot);

// From what is known about the job to the part that this node has in its gang.

/// How this node meets the others of the job. Reads the token file. Fails when the token cannot be
/// read or is too short, blaming what named it.
[[nodiscard]] Result<gang::GangSetup> make_gang_setup(const Cluster& cluster, const gang::GangOptions& options);

/// A job of one node that nobody else takes part in: a worker of another launcher.
[[nodiscard]] gang::GangSetup make_lone_setup(const RunOptions& options);

}  // namespace muster
