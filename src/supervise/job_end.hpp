#pragma once

// How a job ended, as every node of it reports: plain values that travel between agents.

#include "base/ranks.hpp"
#include "supervise/exit_status.hpp"

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class Verdict {
  Succeeded,
  Failed,
  Stopped,     ///< by a signal from outside
  Incomplete,  ///< the gang never became complete: nothing was started
  Lost,        ///< a node or the leader was lost
  Hung,        ///< ranks ran on although another had ended long before
  Suspended,   ///< it gave way after a notice, to be started again
};

/// The ways in which a job can end: each has a row in the table of ends.
enum class EndKind {
  Succeeded,
  WorkerFailed,
  NoProgress,     ///< over several attempts
  SystemRefused,  ///< a call: no descriptors, no port
  NodeRefused,    ///< this node is none of the job's, or its environment is wrong
  BadInput,       ///< a file that was waited for is none that it could be
  Stopped,
  Incomplete,
  Lost,
  Hung,
  NotExecutable,  ///< the program of a worker that was not started
  NotFound,       ///< the same
  Suspended
};

/// The worker or service that failed first in an attempt, with everything that its node knows about it.
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
  /// Why it could not be started, what a service met, or why a worker has failed that ended with 0; else empty.
  std::string start_error;
  std::string error_message;            ///< what its error file says; empty: nothing
  std::vector<std::string> last_lines;  ///< of its standard error
  bool is_early_exit = false;           ///< it ended with 0 while others worked on, and that was forbidden
  bool knows_order = true;              ///< false: others ended so close to it that it was the first one, or not
  std::string label{};                  ///< what it is called beside its rank, such as "ps 1"; usually empty
  bool is_unranked = false;             ///< none of the job's ranks, as mpirun: called by its label alone
  std::string service{};                ///< its name; a service has no rank and no pid. Empty: a worker
  bool was_passed_on = false;           ///< the signal that ended it had reached muster, which passed it on
  std::vector<std::string> hints{};     ///< what only its node can know of how it ended, in sentences

  bool operator==(const Failure&) const = default;
};

/// Those that failed besides the first one.
struct OtherFailures {
  static constexpr std::size_t kMostListed = 16;
  std::vector<Failure> listed;  ///< with fewer of their words, and at most so many
  int count = 0;                ///< of all of them

  void add(Failure failure);
  void add(OtherFailures others);
  bool operator==(const OtherFailures&) const = default;
};

/// "rank 3", "rank 4 (ps 1)", or "service 'planned_files'".
[[nodiscard]] std::string name_of_failed(const Failure& failure);

/// "rank 3 on node 1 (host-b) failed (exit code 9)".
[[nodiscard]] std::string describe_failure(const Failure& failure);
/// "exit code 9", or "signal SIGUSR1 (User defined signal 1), which muster passed on". Empty: it never ran.
[[nodiscard]] std::string describe_status(const Failure& failure);

/// Its program is not found or cannot be executed (126, 127), and will not be after a restart.
[[nodiscard]] bool is_incurable(const Failure& failure);

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
  bool is_loss = false;  ///< of a node
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
  EndKind kind = EndKind::Succeeded;
  int exit_code = 0;
  int attempt = 0;
  std::string reason;  ///< a few words, such as "worker failed"
  std::optional<Failure> first_failure;
  OtherFailures also_failed{};
  std::optional<int> stop_signal;  ///< the signal from outside that ended the job
  /// Rank 0 had ended with 0 before the first failure: with PyTorch it took the store with it.
  bool rank_zero_had_ended = false;
  GangRecord gang;
};

/// A row of the table of ends: what a job that ends so is called, what its agents end with, and what
/// a scheduler should do about it.
struct EndRow {
  EndKind kind = EndKind::Succeeded;
  Verdict verdict = Verdict::Succeeded;
  std::string_view name;         ///< of the verdict, in documents and on the wire
  std::optional<int> exit_code;  ///< empty: that of a worker or a signal
  std::string_view advice;       ///< "a scheduler should ..."
};

[[nodiscard]] std::span<const EndRow> end_table();
/// "succeeded", "failed" ...
[[nodiscard]] std::string_view verdict_name(Verdict verdict);
[[nodiscard]] std::optional<Verdict> find_verdict(std::string_view name);
/// What the table says; 1 where it leaves the code to a worker or a signal.
[[nodiscard]] int exit_code_of(EndKind kind);
/// What the row of its kind says; a worker may end with any number of ours.
[[nodiscard]] std::string_view advice_for(const JobEnd& end);

// Every end is made by one of these; whoever knows them adds the attempt and the record.

[[nodiscard]] JobEnd make_end(EndKind kind, std::string reason);
/// Stopped from outside: 128 plus the signal.
[[nodiscard]] JobEnd end_by_signal(int signal);
/// The failed worker's code; of one that never ran, or of a service, what was in the way.
[[nodiscard]] JobEnd end_by_failure(const Failure& failure);

}  // namespace muster
