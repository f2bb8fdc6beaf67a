#pragma once

// The outcome of a run on this node, for its report.

#include "base/console_time.hpp"
#include "base/ranks.hpp"
#include "supervise/exit_status.hpp"
#include "supervise/supervisor.hpp"

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// The result of one worker of this node.
struct WorkerResult {
  std::string role;
  GlobalRank global_rank;
  LocalRank local_rank;
  WorkerOutcome outcome = WorkerOutcome::NeverStarted;
  pid_t pid = -1;                    ///< -1: never started
  std::optional<ExitStatus> status;  ///< empty: never started, or it could not be killed
  double run_time_seconds = 0;
  std::string label;         ///< further name, such as "ps 1"; usually empty
  bool is_unranked = false;  ///< not a rank of the job, such as mpirun; named by its label alone
};

/// A file that a worker of this node wrote about its end, and that is kept after the job.
struct KeptEvidence {
  GlobalRank global_rank;
  int attempt = 0;
  std::string kind;    ///< "flight recorder"
  std::string path;    ///< empty: it was not kept
  std::string remark;  ///< why it was not kept, or not all of it; usually empty
};

/// The end of the job and this node's part in it, for the report.
struct Outcome {
  JobEnd end;
  int nodes = 1;
  NodeRank node_rank;
  bool has_place = false;  ///< an attempt was started here; otherwise the ranks are unknown
  std::string host_name;
  std::vector<WorkerResult> workers;  ///< of this node, in the last attempt
  double run_time_seconds = 0;
  WallTime ended_at{};
  /// Error file of the first failure; empty: it was on another node, or wrote none.
  std::string error_file{};
  /// Seconds from the start of the last attempt until all ranks had called init_process_group; only on the leader,
  /// and where its store is used.
  std::optional<double> init_seconds{};
  bool rank_zero_hosts_store = false;  ///< workers get MASTER_PORT, as PyTorch's do, and muster does not serve it
  bool signals_workers = false;        ///< --tell-workers-by is given
  std::vector<std::string> notices;    ///< sentences, such as lines lost in a log file
  std::set<int> reported_attempts;     ///< attempts whose reason to end was logged here when they ended
  std::string hang{};                  ///< the last findings about a hang, as JSON; empty: none
  std::vector<KeptEvidence> evidence{};
  bool is_printed_elsewhere = false;  ///< the remote launcher or the first node prints the reason
};

}  // namespace muster
