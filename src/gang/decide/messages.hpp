#pragma once

// What agents and their leader say to each other: one struct a message. docs/gang.md has the order.
// Those that other stages use too are in muster/gang/. encoding.hpp makes bytes of them.

#include "pieces.hpp"

#include <muster/base/ranks.hpp>
#include <muster/cluster/facts.hpp>
#include <muster/gang/events.hpp>
#include <muster/supervise/job_end.hpp>

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace muster::gang {

/// Raised when a message changes in a way that an older agent would misread.
inline constexpr int kProtocol = 2;

// --- From an agent to the leader ----------------------------------------------------------------

/// The first message on a link: who wants to join which job.
struct Join {
  int protocol = kProtocol;
  std::string version;      ///< of the program, for messages
  std::string incarnation;  ///< 16 hexadecimal digits, new for each start of an agent
  JobFacts job;             ///< must be the leader's
  NodeFacts node;
  double waited_seconds = 0;             ///< since the agent was started
  std::string waits_for;                 ///< see `Preparing`
  std::vector<std::string> contributes;  ///< keys of what follows and belongs to the start
};

/// Whether the inputs of this node are there. Sent when that changes after the join.
struct Preparing {
  std::string waits_for;  ///< such as "its rank table: initializing"; empty: it is ready
  int exit_code = 0;      ///< not 0: in vain, and what the job ends with
};

/// Says "I am alive"; the leader answers with the same.
struct Beat {};

/// A worker failed, and it is the first one of this node in this attempt.
struct Failed {
  int attempt = 0;
  Failure failure;
};

/// Nothing of the attempt is alive on this node any more.
struct Ended {
  int attempt = 0;
  std::optional<Failure> failure;     ///< the first of this node, now with its last lines
  std::optional<bool> made_progress;  ///< what --progress-file shows; empty: there is none
  bool gave_up = false;               ///< but for something that could not be killed
  OtherFailures also_failed{};        ///< besides the first of this node
};

/// A signal from outside reached this agent: it leaves, or the job ends.
struct StopAsked {
  int signal = 0;
  bool is_urgent = false;  ///< a second one: nobody waits for any grace
};

/// A piece of what this node contributes to the exchange.
struct Contribute {
  Piece piece;
};

// --- From the leader to an agent ----------------------------------------------------------------

/// The agent belongs to the gang: it waits for the start.
struct Admitted {
  std::optional<NodeRank> seat;          ///< its node rank; empty: a spare
  double heartbeat_timeout_seconds = 8;  ///< silence that means loss, both ways
  bool runs_without_it = false;          ///< of a spare: the job has been started
};

/// The agent cannot join.
struct Refused {
  std::string reason;      ///< one sentence without a full stop
  bool may_retry = false;  ///< a later attempt may be admitted
};

/// How the wait goes.
struct Waiting {
  std::string progress;  ///< one sentence without a full stop
};

/// A piece of what the nodes have brought together. What belongs to a start comes before it.
struct Merged {
  Piece piece;
};

/// End the workers of this attempt.
struct Stop {
  int attempt = 0;
  int signal = 15;            ///< with which the workers are asked to end
  std::string reason;         ///< for the user
  std::optional<JobEnd> end;  ///< empty: another attempt follows
  bool is_urgent = false;     ///< kill them
};

/// The job is over: report this and end.
struct Finish {
  JobEnd end;
};

using Message = std::variant<Join,
                             Preparing,
                             Beat,
                             Failed,
                             Succeeded,
                             Ended,
                             StopAsked,
                             Contribute,
                             Admitted,
                             Refused,
                             Waiting,
                             Merged,
                             Start,
                             Stop,
                             Finish>;

/// A piece of a value, which other messages may overtake.
[[nodiscard]] inline bool is_piece(const Message& message) {
  return std::holds_alternative<Contribute>(message) || std::holds_alternative<Merged>(message);
}

}  // namespace muster::gang
