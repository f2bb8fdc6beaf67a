#pragma once

// Defines how a job ended, as every node reports it: plain values that travel between agents.

#include "base/ranks.hpp"
#include "supervise/error_moment.hpp"
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
  Hung,        ///< ranks still ran long after another one had ended
  Suspended,   ///< gave way after a notice, to be started again
};

/// The ways in which a job can end: each has a row in the table of ends.
enum class EndKind {
  Succeeded,
  WorkerFailed,
  NoProgress,     ///< over several attempts
  SystemRefused,  ///< a system call failed: no descriptors, no port
  NodeRefused,    ///< this node is not part of the job, or its environment is wrong
  BadInput,       ///< a file that the job waited for is invalid
  Stopped,
  Incomplete,
  Lost,
  Hung,
  NotExecutable,  ///< the program of a worker cannot be executed
  NotFound,       ///< the program of a worker does not exist
  Suspended,
  Unsaved,  ///< suspended, and no worker had saved or ended when the time was over
  Unfit     ///< a node differs from the others in what the job needs, and no other one can have its place
};

/// The worker or service that failed first in an attempt, with all that its node knows about it.
struct Failure {
  NodeRank node;
  std::string host;
  std::string role;
  GlobalRank global_rank;
  LocalRank local_rank;
  pid_t pid = -1;                    ///< -1: never started
  std::optional<ExitStatus> status;  ///< empty: never started
  int exit_code = 0;                 ///< the job's exit code because of it
  double run_time_seconds = 0;
  /// Why it could not be started, the error of a service, why a worker failed that exited with 0, which ranks went on
  /// after its early exit, or what shows that it hung; else empty.
  std::string start_error;
  std::string error_message;            ///< from its error file; empty: none
  std::vector<std::string> last_lines;  ///< of its standard error, see also `has_joined_streams`
  bool is_early_exit = false;           ///< it exited with 0 while others ran on, which was forbidden
  bool knows_order = true;              ///< false: others ended so close to it that it may not be the first
  std::string label{};                  ///< its name beside the rank, such as "ps 1"; usually empty
  bool is_unranked = false;             ///< not a rank of the job, such as mpirun; named only by its label
  std::string service{};                ///< its name; a service has no rank and no pid. Empty: a worker
  bool was_passed_on = false;           ///< muster had received the signal that ended it, and had forwarded it
  bool is_hung = false;                 ///< it kept the others waiting, and muster ended it
  bool is_unkillable = false;           ///< it is hung in an uninterruptible system call, and may hold its device
  /// True: muster had asked it to end, but it had written an error before; `last_lines` are from before the request.
  bool was_asked = false;
  std::vector<std::string> hints{};  ///< facts that only its node knows about its end, in sentences
  /// When it wrote the error that ended it; only its own node can compare this with others. Empty: it wrote none.
  std::optional<ReadMoment> error_at{};
  bool has_joined_streams = false;  ///< its standard output is the same pipe or terminal as its standard error
  bool wrote_first = false;         ///< it wrote its error before the other suspects, whose failures look like its own

  bool operator==(const Failure&) const = default;
};

/// The failures besides the first one; also ranks that were only asked to end, but had shown an error (`was_asked`).
struct OtherFailures {
  static constexpr std::size_t kMostListed = 16;
  static constexpr std::size_t kLineBytes = 200;  ///< a longer line is cut
  std::vector<Failure> listed;                    ///< with fewer last lines
  int count = 0;                                  ///< number of all, listed or not

  void add(Failure failure);
  void add(OtherFailures others);
  /// Removes the ranks that were only asked to end.
  void drop_asked();
  bool operator==(const OtherFailures&) const = default;
};

/// "rank 3", "rank 4 (ps 1)", or "service 'planned_files'".
std::string name_of_failed(const Failure& failure);

/// "rank 3 on node 1 (host-b) failed (exit code 9)".
std::string describe_failure(const Failure& failure);
/// "exit code 9", or "signal SIGUSR1 (User defined signal 1), which muster passed on". Empty: it never ran.
std::string describe_status(const Failure& failure);

/// Says in a clause why a restart would not help: the program is not found or not executable (127, 126), or a process
/// cannot be killed. Empty: it might help.
std::string why_incurable(const Failure& failure);

/// A rank that ended with 0 by itself while others ran on.
struct EarlyLeaver {
  NodeRank node;
  std::string host;
  GlobalRank global_rank;
  double run_time_seconds = 0;
};

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
  bool is_loss = false;                   ///< of a node
  std::vector<std::string> last_lines{};  ///< of the first failure's standard error, at most `kPastLines`
  /// Others that may have failed first, each with its last line, at most `kPastOthers`; empty: the first one is known.
  std::vector<std::string> also_failed{};
};
inline constexpr std::size_t kPastLines = 10;
inline constexpr std::size_t kPastOthers = 3;

/// A node that differs from the others (docs/preflight.md).
struct Outlier {
  NodeRank node;
  std::string host;
  int others = 0;     ///< nodes that agree where it differs
  std::string facts;  ///< "driver 570.86 (580.95), CPUs 32 (64)": its own values, and those of the others

  bool operator==(const Outlier&) const = default;
};

/// A node that has failed by itself in more than one attempt (docs/preflight.md).
struct Suspect {
  static constexpr std::size_t kMostReasons = 3;
  NodeRank node;  ///< when it failed last
  std::string host;
  int failures = 0;
  std::vector<std::string> reasons;  ///< the last ones: "in attempt 0 (lost: it closed the connection)"
  bool is_left_out = false;          ///< another node has taken its place in the job

  bool operator==(const Suspect&) const = default;
};

/// "it has failed by itself in attempt 0 (...) and in attempt 1 (...)".
std::string describe_reasons(const Suspect& suspect);

/// Facts about all nodes of the job, for the report.
struct GangRecord {
  int nodes = 1;                           ///< that took part in the last attempt
  double arrival_skew_seconds = 0;         ///< between the first agent and the last one
  std::vector<Arrival> slowest;            ///< at most three, the slowest first
  std::vector<PastAttempt> past_attempts;  ///< the last ten
  std::vector<Outlier> outliers{};         ///< the first ones of the last attempt
  std::vector<Suspect> suspects{};         ///< at most 16
};

/// The end of a job. Every agent reports the same one and exits with its code.
struct JobEnd {
  Verdict verdict = Verdict::Succeeded;
  EndKind kind = EndKind::Succeeded;
  int exit_code = 0;
  int attempt = 0;
  std::string reason;  ///< a few words, such as "worker failed"
  std::optional<Failure> first_failure;
  OtherFailures also_failed{};
  std::vector<int> erred_after_notice{};  ///< global ranks, on all nodes, of a suspended job
  std::optional<int> stop_signal;         ///< the signal from outside that ended the job
  /// Rank 0 had exited with 0 before the first failure: with PyTorch, its store is gone since then.
  bool rank_zero_had_ended = false;
  /// If the failed rank only shows that a peer was gone: the first rank of its role that had left early; else empty.
  std::optional<EarlyLeaver> left_early{};
  GangRecord gang;
};

/// A row of the table of ends: the name of the verdict, the exit code of the agents, and advice for a scheduler.
struct EndRow {
  EndKind kind = EndKind::Succeeded;
  Verdict verdict = Verdict::Succeeded;
  std::string_view name;         ///< of the verdict, in documents and on the wire
  std::optional<int> exit_code;  ///< empty: that of a worker or a signal
  std::string_view advice;       ///< "a scheduler should ..."
  std::string_view instruction;  ///< what happened and what to do, behind the exit code; empty: see `describe_exit`
};

std::span<const EndRow> end_table();
/// "succeeded", "failed" ...
std::string_view verdict_name(Verdict verdict);
std::optional<Verdict> find_verdict(std::string_view name);
/// The exit code in the table; 1 for a row that leaves the code to a worker or a signal.
int exit_code_of(EndKind kind);
/// The advice for its kind, not for its exit code: a worker may exit with a code that is also one of muster's.
std::string_view advice_for(const JobEnd& end);
/// The last line of a job that did not succeed: "exit code 69: a node was lost; start the job again elsewhere".
std::string describe_exit(const JobEnd& end);

// Makers of ends; the caller adds the attempt and the record.

JobEnd make_end(EndKind kind, std::string reason);
/// Stopped from outside: 128 plus the signal.
JobEnd end_by_signal(int signal);
/// The failed worker's code; for one that never ran, or a service, the kind of the error.
JobEnd end_by_failure(const Failure& failure);

}  // namespace muster
