#pragma once

// Runs the front of a job: the remote shells that start its agents on other hosts.

#include "base/result.hpp"
#include "plan/launch_plan.hpp"
#include "process/inherited.hpp"
#include "agent/run.hpp"
#include "supervise/job_end.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Everything that a front runs with, by node rank.
struct RemoteJob {
  LaunchPlan plan;                  ///< a remote shell for each node
  std::vector<std::string> hosts;   ///< how the nodes are called
  std::vector<std::string> orders;  ///< what the agents get on standard input: secret
  std::string nonce;                ///< by which their words are known
};

/// What became of it.
struct RemoteOutcome {
  std::optional<JobEnd> end;  ///< why the front ended the job; empty: the agents have said it
  std::string report;         ///< of node 0, as JSON; empty: it sent none
  double run_time_seconds = 0;
};

/// What is done once, when nothing is left of the remote shells: as ExitReport of a node.
struct LauncherExitReport {
  std::function<Result<>(const RemoteOutcome&)> write_report;  ///< empty: none is wanted
  std::optional<int> stream;
  std::function<void(const RemoteOutcome&, const Result<>& report)> say;
};

/// Starts the agents, passes signals on to them, shows what they write, and returns the exit code of the
/// job. Splits the process into guard and agent, as `run` does.
[[nodiscard]] Result<int> run_remote_launcher(const RemoteJob& job,
                                              const RunOptions& options,
                                              const Inherited& inherited,
                                              const std::map<std::string, std::string>& variables,
                                              const LauncherExitReport& words);

}  // namespace muster
