#pragma once

// Defines the gang's requests to a node, and the events that the node reports to the gang.

#include "base/ranks.hpp"
#include "gang/exchange_values.hpp"
#include "platforms/placement.hpp"
#include "supervise/job_end.hpp"

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace muster::gang {

// --- Requests of the gang to this node ----------------------------------------------------------

/// Start the workers of this node.
struct Start {
  Placement placement;
  /// Time until the workers must be dead after the loss of the leader, because the job then continues without this
  /// node. 0: they have their whole grace.
  double orphan_limit_seconds = 0;
  int restart_count = 0;       ///< runs and attempts of this job before this one
  std::string last_verdict{};  ///< verdict of the run or attempt before; empty: unknown
};

/// Start the workers, with the values that the nodes exchanged for it.
struct StartAttempt {
  Start start;
  Exchanged merged;
};

/// Send the workers the signal, and SIGKILL after their grace, or after a shorter one if that is set.
struct StopAttempt {
  int signal = 15;
  std::string reason;  ///< empty: the end that follows has the reason
  std::optional<std::chrono::milliseconds> most_grace;
};

/// A signal for the workers: the first one is passed on, a second one kills.
struct PassSignal {
  int signal = 0;
};

struct KillAttempt {};

/// Pass a notice on to this node's workers: the job is to be suspended. The workers save and exit, or report that
/// they have saved.
struct SuspendNotice {
  std::string source;                   ///< sender of the notice, for the user
  std::chrono::milliseconds within{0};  ///< from now until the workers get SIGTERM
  bool is_withdrawn = false;            ///< the job continues
};

/// A question about the state of all nodes. An agent asks the leader, and the leader asks all agents; each of them
/// answers by a `StatusReport`.
struct StatusQuery {
  int number = 0;      ///< chosen by whoever asks; the answers repeat it
  std::string what{};  ///< what is asked about; empty: the workers' state
};

/// State of one node as a JSON line (docs/control.md). The leader forwards it to the agent that asked.
struct StatusReport {
  int number = 0;  ///< of the `StatusQuery`
  std::string text;
  int missing = 0;        ///< from the leader: nodes that have not answered yet
  std::string ranks{};    ///< from the leader: the node's ranks, such as "0-7", or "none"; empty: not known
  std::string differs{};  ///< from the leader: how the node differs from the others, see `Outlier`; usually empty
  std::string suspect{};  ///< from the leader: how often the node has failed by itself, see `Suspect`; usually empty
  std::string awaited{};  ///< from the leader: names of the missing nodes, "node 1 (b)"; empty if they are many
};

/// The attempt hangs, as node 0 has found. If ranks are named, the leader tells all nodes, and the failure of these
/// ranks ends the attempt; otherwise the leader ends it.
struct Hung {
  int attempt = 0;
  std::string why;
  std::vector<int> ranks;  ///< ranks for which the others wait; empty: none could be named
};

/// The job stands still. Sent once, and again only after the job has moved.
struct StallBegun {
  std::vector<int> ranks;  ///< ranks for which the others wait; empty: none could be named
};

/// Memory of a node's control group, as far as the node can see it.
struct MemoryUse {
  int used_mib = 0;   ///< mebibytes, without file caches
  int limit_mib = 0;  ///< mebibytes; 0: no limit is visible
  int oom_kills = 0;  ///< processes that the kernel has killed there so far

  /// True if one large allocation may use up the rest.
  bool is_short() const { return limit_mib > 0 && used_mib >= limit_mib - limit_mib / 10; }
};

/// Limits how long this node's workers live without a heartbeat of their agent, because other nodes rely on their
/// death. The guard kills them if the agent has not renewed the lease for `limit`, and at `gone_by` in any case.
struct Lease {
  std::optional<std::chrono::milliseconds> limit;                ///< empty: no other node relies on it
  std::optional<std::chrono::steady_clock::time_point> gone_by;  ///< empty: no other node continues without this one

  bool operator==(const Lease&) const = default;
};

// --- Events of this node ------------------------------------------------------------------------

/// A worker that decides success exited with 0. Sent for the first one of each role of a node, for the last one, and
/// for global rank 0. A node without such workers sends it at its start, without a pid.
struct Succeeded {
  int attempt = 0;
  GlobalRank global_rank;
  LocalRank local_rank;
  std::string role;
  pid_t pid = -1;
  double run_time_seconds = 0;
  bool is_last = false;  ///< every deciding worker of this node has exited with 0
  int world_size = 0;    ///< of the job's ranks
};

/// No process of the attempt is alive on this node.
struct AttemptOver {
  int attempt = 0;
  std::optional<Failure> failure;     ///< the first of this node, with its last lines
  std::optional<bool> made_progress;  ///< what --progress-file shows; empty: no such file
  bool gave_up = false;               ///< true: processes are left that could not be killed
  OtherFailures also_failed{};        ///< failures besides the first one of this node
  /// Ranks that ended with an error of their own after a notice: they may not have saved.
  std::vector<int> erred_after_notice{};
};
/// No process of the attempt is alive or can be killed, but output may still have to be shown. AttemptOver follows.
struct WorkersGone {};
/// The agent got SIGTERM, SIGINT, SIGHUP or SIGQUIT, or a request that counts as SIGTERM.
struct StopSignal {
  int signal = 0;
  bool workers_know = false;                              ///< the terminal sent it to the workers as well
  std::optional<std::chrono::milliseconds> most_grace{};  ///< limit on all nodes; empty: each node's own
  std::string requester{};                                ///< of muster stop: "user 1000, pid 4711"; empty: a signal
};
/// A notice to suspend the job reached this node, or was withdrawn.
struct SuspendRequested {
  std::string source;                               ///< sender of the notice, for the user
  std::optional<std::chrono::milliseconds> within;  ///< time that the notice leaves; empty: no limit of its own
  bool is_withdrawn = false;
};
/// A process of a worker has saved its work after a notice, and the job may end.
struct WorkSaved {
  int attempt = 0;
  std::string process;  ///< "rank 3"
};
/// A line for the consoles of all nodes.
struct Announced {
  std::string text;
  std::optional<StallBegun> stall{};  ///< what the line is about, if it is about a job that stands still
};
/// The guard process was killed: this agent must end at once.
struct GuardGone {};

/// The inputs that the plan needs have arrived or are missing. A node is ready from the start unless its
/// configuration says otherwise; no attempt starts before all nodes are ready.
struct InputsChanged {
  std::string waits_for;  ///< such as "its rank table: initializing"; empty: all are here
};

/// This node contributes a value to the exchange. A value for the start replaces the earlier one of its key.
struct Contributed {
  std::string key;
  std::string bytes;
  std::vector<NodeRank> nodes;  ///< contributing nodes, sorted; empty: all of the attempt
};

/// The inputs will never arrive: the job ends with this error.
struct InputsFailed {
  EndKind kind = EndKind::BadInput;
  std::string why;
};

/// Events that this node reports. A `Failure` is this node's first one in the attempt. The gang fills in the number
/// of the attempt.
using NodeEvent =
    std::variant<Failure, Succeeded, WorkersGone, AttemptOver, StopSignal, SuspendRequested, WorkSaved, StatusQuery,
                 StatusReport, Announced, Hung, GuardGone, InputsChanged, Contributed, InputsFailed>;

}  // namespace muster::gang
