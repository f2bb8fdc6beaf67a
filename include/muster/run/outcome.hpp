#pragma once

#include <muster/base/ranks.hpp>
#include <muster/supervise/exit_status.hpp>
#include <muster/supervise/supervisor.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace muster {

/// What became of one worker of this node.
struct WorkerResult {
  std::string role;
  GlobalRank global_rank;
  LocalRank local_rank;
  WorkerOutcome outcome = WorkerOutcome::NeverStarted;
  pid_t pid = -1;                    ///< -1: never started
  std::optional<ExitStatus> status;  ///< empty: never started, or it could not be killed
  double run_time_seconds = 0;
};

/// The worker that failed first, and why.
struct FirstFailure {
  std::size_t worker = 0;
  std::string start_error;              ///< why it could not be started; empty if it could
  std::vector<std::string> last_lines;  ///< of its standard error
  std::string error_file;               ///< content of the error file it wrote; empty: none
};

/// What happened on this node, for the report.
struct Outcome {
  Conclusion conclusion;
  int attempt = 0;
  NodeRank node_rank;
  std::string host_name;
  std::vector<WorkerResult> workers;
  std::optional<FirstFailure> first_failure;
  bool knows_order = true;  ///< false: without pidfds, deaths found together may be in any order
  double run_time_seconds = 0;
  std::vector<std::string> remarks;  ///< sentences such as what a log file lacks
};

}  // namespace muster
