#pragma once

#include "base/ranks.hpp"
#include "supervise/exit_status.hpp"
#include "supervise/supervisor.hpp"

#include <sys/types.h>

#include <optional>
#include <set>
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
  std::string label;         ///< what it is called beside its rank, such as "ps 1"; usually empty
  bool is_unranked = false;  ///< none of the job's ranks, as mpirun: called by its label alone
};

/// What happened, for the report: the end of the job, and what this node had to do with it.
struct Outcome {
  JobEnd end;
  int nodes = 1;
  NodeRank node_rank;
  bool has_place = false;  ///< some attempt was started here; else nobody knows which ranks it has
  std::string host_name;
  std::vector<WorkerResult> workers;  ///< of this node, in the last attempt
  double run_time_seconds = 0;
  /// That the first failure may have written; empty: it is none of this node's.
  std::string error_file{};
  /// On the leader whose store the ranks meet by: from the start of the last attempt until all had called
  /// init_process_group.
  std::optional<double> init_seconds{};
  bool rank_zero_hosts_store =
      false;  ///< workers are told MASTER_PORT, as PyTorch's are, and nobody else serves them there
  std::vector<std::string> notices;  ///< sentences such as what a log file lacks
  std::set<int> reported_attempts;   ///< why they ended was said here when they did
  bool is_told_elsewhere = false;    ///< by the front of the job, or its first node
};

}  // namespace muster
