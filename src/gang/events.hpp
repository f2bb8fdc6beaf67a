#pragma once

// What the gang wants from a node, and what the node tells its gang.

#include "base/ranks.hpp"
#include "plan/placement.hpp"
#include "supervise/job_end.hpp"

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace muster::gang {

// --- What the gang wants ------------------------------------------------------------------------

/// Start the workers of this node.
struct Start {
  Placement placement;
  /// When the leader is lost, the workers must be gone so many seconds later, because the job goes
  /// on without this node. 0: they have their whole grace.
  double orphan_limit_seconds = 0;
  int restart_count = 0;       ///< runs and attempts of the job before this one
  std::string last_verdict{};  ///< of the last of them; empty: nobody knows
};

/// End the workers with their grace, or with less.
struct StopAttempt {
  int signal = 15;
  std::string reason;  ///< empty: the end, which follows, says it
  std::optional<std::chrono::milliseconds> most_grace;
};

/// A notice that the job is to give way, told to the workers of this node. They save and end, or say that they have saved.
struct SuspendNotice {
  std::string source;                   ///< who asked for it, for the user
  std::chrono::milliseconds within{0};  ///< from now until the workers are asked to end
  bool is_withdrawn = false;            ///< the job goes on
};

/// Describe the workers of this node as a line of JSON, in a `StatusReady`.
struct DescribeStatus {
  int number = 0;
};

/// What one node of the job says of its workers, for whoever asked here.
struct StatusOfNode {
  std::string text;
  int missing = 0;  ///< nodes that have not answered yet
};

/// How long what runs on this node may live without a word from its agent: the other nodes count on it. Whoever watches the
/// agent ends all of it when the agent has not renewed this for `limit`, and at `gone_by` in any case.
struct Lease {
  std::optional<std::chrono::milliseconds> limit;                ///< empty: nobody counts on it
  std::optional<std::chrono::steady_clock::time_point> gone_by;  ///< empty: nobody goes on without it

  bool operator==(const Lease&) const = default;
};

// --- What happens on this node ------------------------------------------------------------------

/// A worker that decides success ended with 0. Sent for the first one of each role of a node, for
/// the last, and for global rank 0; a node on which no worker decides sends it at its start, without a pid.
struct Succeeded {
  int attempt = 0;
  GlobalRank global_rank;
  LocalRank local_rank;
  std::string role;
  pid_t pid = -1;
  double run_time_seconds = 0;
  bool is_last = false;  ///< every worker of this node that decides success has ended with 0
};

/// The first failure of this node in this attempt.
struct WorkerFailed {
  Failure failure;
};
/// See `Succeeded`; its attempt is filled here.
struct WorkerSucceeded {
  Succeeded worker;
};
/// Nothing of the attempt is alive here any more.
struct AttemptOver {
  std::optional<Failure> failure;
  std::optional<bool> made_progress;
  bool gave_up = false;  ///< but for something that could not be killed
  OtherFailures also_failed{};
};
/// Nothing of the attempt is alive, or can be ended; what it wrote may still have to be shown. AttemptOver follows.
struct WorkersGone {};
/// TERM, INT, HUP or QUIT from outside.
struct StopSignal {
  int signal = 0;
  bool workers_know = false;                              ///< it came from the terminal, to them as well
  std::optional<std::chrono::milliseconds> most_grace{};  ///< on all nodes; empty: each node's own
};
/// A notice reached this node, or one is withdrawn.
struct SuspendRequested {
  std::string source;
  std::optional<std::chrono::milliseconds> within;  ///< what it leaves; empty: no limit of its own
  bool is_withdrawn = false;
};
/// A process of a worker says that the work is saved.
struct WorkSaved {
  std::string process;  ///< "rank 3"
};
/// Somebody on this node wants to know the state of the job: `StatusOfNode` follows for each node.
struct StatusWanted {};
/// The answer to `DescribeStatus`.
struct StatusReady {
  int number = 0;
  std::string text;
};
/// The other half of muster was killed: there is no time for anything.
struct GuardGone {};

/// Whether what the plan needs is here. A node is ready from the start unless its policy says otherwise;
/// no attempt starts before all nodes are.
struct InputsChanged {
  std::string waits_for;  ///< such as "its rank table: initializing"; empty: all are here
};

/// This node contributes to the exchange. Where the key is one of those before the start, what it
/// contributed before is replaced.
struct Contributed {
  std::string key;
  std::string bytes;
  std::vector<NodeRank> nodes;  ///< who brings it together, sorted; empty: all of the attempt
};

/// They will never be: the job ends so.
struct InputsFailed {
  EndKind kind = EndKind::BadInput;
  std::string why;
};

using NodeEvent =
    std::variant<WorkerFailed, WorkerSucceeded, WorkersGone, AttemptOver, StopSignal, SuspendRequested, WorkSaved,
                 StatusWanted, StatusReady, GuardGone, InputsChanged, Contributed, InputsFailed>;

}  // namespace muster::gang
