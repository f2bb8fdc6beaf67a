#pragma once

// A run on this node: the job, its options, its folders, and what is done at its end.

#include "base/result.hpp"
#include "environment/cgroups.hpp"
#include "gang/gang_config.hpp"
#include "inputs/input_files.hpp"
#include "plan/launch_plan.hpp"
#include "process/inherited.hpp"
#include "run/outcome.hpp"
#include "run/run_options.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// A fallback for starting MPI ranks, used if the methods before it do not work on all nodes.
struct MpiStartMethod {
  ChosenMode mode;
  LaunchPlan plan;  ///< as far as known before the nodes have met
};

/// This node's part of a job.
struct JobPlan {
  LaunchPlan plan;                 ///< as far as known before the nodes have met
  std::optional<PlanInput> input;  ///< input of the plan; empty: nothing is left to decide
  gang::GangSetup gang;
  std::vector<Input> inputs;  ///< files that must exist before the start
  /// Ports for listening processes of this node, enough for any rank and any number of nodes.
  int ports_to_reserve = 0;
  std::vector<MpiStartMethod> others = {};  ///< fallbacks that the nodes may agree on

  /// True if the plan of any start method sets this member, such as `&LaunchPlan::needs_secret`.
  bool may_need(bool LaunchPlan::*what) const;
};

/// Final steps of the agent, after every process has ended and all output has been read.
struct ExitReport {
  /// Writes the report; empty: none is wanted. Runs in a helper process, because the report's file system may hang;
  /// of our descriptors the helper process has only `stream`.
  std::function<Result<>(const Outcome&)> write_report;
  std::optional<int> stream;  ///< descriptor of the report, if it has no path
  std::string file{};         ///< path of the report, if it has one
  /// Logs the last lines of the job and returns text for standard output, written behind the workers' output.
  /// `report`: result of writing the report.
  std::function<std::string(const Outcome&, const Result<>& report)> say;
};

/// The job and its surroundings on this node, for all parts of the agent. Everything outlives the agent.
struct RunContext {
  const JobPlan& job;
  const RunOptions& options;
  const Inherited& inherited;
  const std::map<std::string, std::string>& variables;
  const ExitReport& exit_report;
  const std::string& marker;
  const std::string& log_folder;         ///< directory in front of the plan's log paths; empty: the paths are complete
  const std::string& run_folder;         ///< empty: none
  const std::string& shared_folder;      ///< in shared memory; where there is none, equal to `run_folder`
  const std::string& rank_folders_root;  ///< each rank gets a folder of its own below it; empty: none does
  std::string run_id = {};               ///< of a one-node job without an id: a random UUID, as in torchrun
  std::string log_token = {};            ///< makes the log directory's name unique among runs
  /// The memory cgroup of this agent. Found once, before other nodes depend on this agent: the kernel delays the
  /// answer while anyone moves a process between control groups.
  MemoryGroup memory_group = {};
};

}  // namespace muster
