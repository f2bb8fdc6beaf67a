#pragma once

// How a job ended, as every node of it reports: plain values that travel between agents.

#include <muster/base/ranks.hpp>
#include <muster/supervise/exit_status.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace muster {

enum class Verdict {
  Succeeded,
  Failed,
  Stopped,     ///< by a signal from outside
  Incomplete,  ///< the gang never became complete: nothing was started
  Lost,        ///< a node or the leader was lost
  Hung,        ///< ranks ran on although another had ended long before
};

// Exit codes of muster's own for the end of a job; docs/exit-codes.md has them all.
inline constexpr int kExitLost = 69;
inline constexpr int kExitSystem = 71;
inline constexpr int kExitIncomplete = 75;
inline constexpr int kExitHung = 86;
inline constexpr int kExitNoProgress = 93;

/// The worker that failed first in an attempt, with everything that its node knows about it.
struct Failure {
  NodeRank node;
  std::string host;
  std::string role;
  GlobalRank global_rank;
  LocalRank local_rank;
  pid_t pid = -1;                    ///< -1: never started
  std::optional<ExitStatus> status;  ///< empty: never started
  int exit_code = 0;                 ///< what the job ends with because of it
  double run_time_seconds = 0;
  std::string start_error;              ///< why it could not be started; empty if it could
  std::string error_message;            ///< what its error file says; empty: nothing
  std::vector<std::string> last_lines;  ///< of its standard error
  bool is_early_exit = false;  ///< it ended with 0 while others worked on, and that was forbidden
  bool knows_order = true;     ///< false: without pidfds, deaths found together may be in any order
  std::string label{};         ///< what it is called beside its rank, such as "ps 1"; usually empty
};

/// "rank 3", or "rank 4 (ps 1)" for a process that has a label.
[[nodiscard]] inline std::string describe_rank(GlobalRank rank, const std::string& label) {
  return "rank " + to_string(rank) + (label.empty() ? "" : " (" + label + ")");
}

/// A node and how long after the first one it came.
struct Arrival {
  NodeRank node;
  std::string host;
  double seconds = 0;
};

/// An attempt that was followed by another one.
struct PastAttempt {
  int attempt = 0;
  std::string reason;
};

/// What the report says about the nodes together.
struct GangRecord {
  int nodes = 1;                           ///< that took part in the last attempt
  double arrival_skew_seconds = 0;         ///< between the first agent and the last one
  std::vector<Arrival> slowest;            ///< at most three, the slowest first
  std::vector<PastAttempt> past_attempts;  ///< the last ten
};

/// The end of a job. Every agent reports the same one and ends with its exit code.
struct JobEnd {
  Verdict verdict = Verdict::Succeeded;
  int exit_code = 0;
  int attempt = 0;
  std::string reason;  ///< a few words, such as "worker failed"
  std::optional<Failure> first_failure;
  std::optional<int> stop_signal;  ///< the signal from outside that ended the job
  /// Rank 0 had ended with 0 before the first failure: with PyTorch it took the store with it.
  bool rank_zero_had_ended = false;
  GangRecord gang;
};

}  // namespace muster
