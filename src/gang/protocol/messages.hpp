#pragma once

// What agents and their leader say to each other: one struct a message. docs/gang.md has the order.
// Those that other stages use too are in muster/gang/. encoding.hpp makes bytes of them.

#include "base/log.hpp"
#include "base/ranks.hpp"
#include "base/result.hpp"
#include "gang/events.hpp"
#include "gang/exchange_values.hpp"
#include "platforms/facts.hpp"
#include "supervise/job_end.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster::gang {

/// Something to tell the people at this node.
struct LogLine {
  Level level = Level::Info;
  std::string text;
};

// Values that travel in pieces, so that a large one holds nothing up and fits the frames. Pure.

/// A part of a value. The pieces of a value follow each other: a link carries one value at a time.
struct Chunk {
  ValueId id;                       ///< without `nodes` in all but the first piece
  std::size_t size = 0;             ///< of the whole value
  std::size_t compressed_size = 0;  ///< of the whole value as it travels: less than `size` where it is compressed
  std::size_t offset = 0;           ///< of this piece in what travels
  std::string bytes;
};

/// The most bytes of a piece, of a key's name, and of nodes that are listed.
inline constexpr std::size_t kMostPieceBytes = std::size_t{32} << 10U;
inline constexpr std::size_t kMostKeyBytes = 64;
inline constexpr std::size_t kMostListedNodes = 16'384;
/// No value is larger, whatever its key allows.
inline constexpr std::size_t kMostValueBytes = std::size_t{16} << 20U;

/// Large values are compressed where that makes them smaller.
[[nodiscard]] std::vector<Chunk> split(Value value);

/// Puts values together again.
class Assembler {
 public:
  /// Returns the value with its last piece. `most` is the limit of its key. Errors are of kind
  /// `BadData`, read behind the sender's name ("sent ...") and are final.
  [[nodiscard]] Result<std::optional<Value>> take(Chunk chunk, std::size_t most);

  /// The value of which some pieces are here and some are not.
  [[nodiscard]] const std::optional<Chunk>& open() const { return open_; }
  void drop() { open_.reset(); }

 private:
  [[nodiscard]] std::string objection(const Chunk& chunk, std::size_t most) const;

  std::optional<Chunk> open_;  ///< with the bytes so far; no more than have come
};

/// Raised when a message changes in a way that an older agent would misread.
inline constexpr int kProtocol = 3;

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
struct InputStatus {
  std::string waits_for;  ///< such as "its rank table: initializing"; empty: it is ready
  int exit_code = 0;      ///< not 0: in vain, and what the job ends with
};

/// Says "I am alive"; the leader answers with the same.
struct Heartbeat {};

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
struct StopFromAgent {
  int signal = 0;
  bool is_urgent = false;                                 ///< a second one: nobody waits for any grace
  std::optional<std::chrono::milliseconds> most_grace{};  ///< empty: each node's own
};

/// A notice reached this node: the job is to give way. Or it was withdrawn there.
struct SuspendFromAgent {
  std::string source;                               ///< who sent it, for the user
  std::optional<std::chrono::milliseconds> within;  ///< what it leaves; empty: no limit of its own
  bool is_withdrawn = false;
};

/// A process of this node has saved its work after a notice, and the job may end.
struct Saved {
  int attempt = 0;
  std::string process;  ///< "rank 3"
};

/// A piece of what this node contributes to the exchange.
struct Contribute {
  Chunk chunk;
};

// --- In both directions -----------------------------------------------------------------------------

/// Asks for the state of the job: an agent asks the leader, which asks all agents. `number` belongs to the sender.
struct StatusQuery {
  int number = 0;
};

/// What one node knows of its workers, as a line of JSON (docs/control.md). The leader passes it on to who has asked.
struct StatusReport {
  int number = 0;
  std::string text;
  int missing = 0;  ///< from the leader: how many nodes have not answered yet
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
  Chunk chunk;
};

/// End the workers of this attempt.
struct Stop {
  int attempt = 0;
  int signal = 15;                                        ///< with which the workers are asked to end
  std::string reason;                                     ///< for the user
  std::optional<JobEnd> end;                              ///< empty: another attempt follows
  bool is_urgent = false;                                 ///< kill them
  std::optional<std::chrono::milliseconds> most_grace{};  ///< empty: the node's own
};

/// The job is to give way, or goes on after all: tell the workers of this attempt.
struct Suspend {
  int attempt = 0;
  SuspendNotice notice;
};

/// The job is over: report this and end.
struct Finish {
  JobEnd end;
};

using Message = std::variant<Join, InputStatus, Heartbeat, Failed, Succeeded, Ended, StopFromAgent, SuspendFromAgent,
                             Saved, StatusQuery, StatusReport, Contribute, Admitted, Refused, Waiting, Merged, Start,
                             Suspend, Stop, Finish>;

/// A piece of a value, which other messages may overtake.
[[nodiscard]] inline bool is_piece(const Message& message) {
  return std::holds_alternative<Contribute>(message) || std::holds_alternative<Merged>(message);
}

}  // namespace muster::gang
