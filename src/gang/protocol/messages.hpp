#pragma once

// Defines the messages between agents and their leader, one struct each. docs/gang.md has their order.
// gang/events.hpp has those that other stages use too; message_encoding.hpp encodes them.

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
#include <variant>
#include <vector>

namespace muster::gang {

/// A line for the console of this node.
struct LogLine {
  Level level = Level::Info;
  std::string text;
};

// Values travel in chunks, so that a large one fits the frames and delays no other message. Pure.

/// A part of a value. A link carries one value at a time, chunk by chunk.
struct Chunk {
  ValueId id;                       ///< `nodes` is set in the first chunk only
  std::size_t size = 0;             ///< of the whole value
  std::size_t compressed_size = 0;  ///< of the whole value as sent: less than `size` if it is compressed
  std::size_t offset = 0;           ///< of this chunk in the bytes sent
  std::string bytes;
};

/// Limits: bytes of a chunk, bytes of a key's name, and listed nodes.
inline constexpr std::size_t kMostPieceBytes = std::size_t{32} << 10U;
inline constexpr std::size_t kMostKeyBytes = 64;
inline constexpr std::size_t kMostListedNodes = 16'384;
/// Limit of any value in bytes, whatever its key allows.
inline constexpr std::size_t kMostValueBytes = std::size_t{16} << 20U;

/// Splits a value into chunks. Large values are compressed if that makes them smaller.
std::vector<Chunk> split(Value value);

/// Joins the chunks of values.
class Assembler {
 public:
  /// Takes the next chunk, and returns the value after its last one. `most` is the limit of its key in bytes. Errors
  /// have the kind `BadData`, follow the sender's name ("sent ...") and are final.
  [[nodiscard]] Result<std::optional<Value>> take(Chunk chunk, std::size_t most);

  /// The incomplete value, if any.
  const std::optional<Chunk>& open() const { return open_; }
  void drop() { open_.reset(); }

 private:
  std::string objection(const Chunk& chunk, std::size_t most) const;

  std::optional<Chunk> open_;  ///< with the bytes received so far
};

/// Increased when a message changes in a way that an older agent would misread.
inline constexpr int kProtocol = 4;

// --- Agent to leader ----------------------------------------------------------------------------

/// The first message on a link: asks to join a job.
struct Join {
  int protocol = kProtocol;
  std::string version;      ///< of the program, for messages
  std::string incarnation;  ///< 16 hexadecimal digits, new for each start of an agent
  JobFacts job;             ///< must be equal to the leader's
  NodeFacts node;
  double waited_seconds = 0;             ///< since the agent was started
  std::string waits_for;                 ///< see `InputStatus`
  std::vector<std::string> contributes;  ///< keys of the values for the start that follow
};

/// Reports that the inputs of this node arrived or are missing. Sent on changes after the join.
struct InputStatus {
  std::string waits_for;  ///< such as "its rank table: initializing"; empty: it is ready
  int exit_code = 0;      ///< not 0: the wait failed, and the job ends with this code
};

/// Shows that the agent is alive; the leader answers with its own. Each has its node's memory use, which may explain
/// later why the node was lost.
struct Heartbeat {
  MemoryUse memory{};
};

/// Reports the first failure of this node in this attempt.
struct Failed {
  int attempt = 0;
  Failure failure;
};

/// This agent got a signal: the agent leaves, or the job ends.
struct StopFromAgent {
  int signal = 0;
  bool is_urgent = false;                                 ///< a person asks again: all grace ends
  std::optional<std::chrono::milliseconds> most_grace{};  ///< empty: each node's own
  std::string requester{};                                ///< of muster stop: "user 1000, pid 4711"; empty: a signal
};

/// A chunk of this node's contribution to the exchange.
struct Contribute {
  Chunk chunk;
};

// --- Both directions --------------------------------------------------------------------------------

/// A warning for the consoles of all nodes: an agent sends it to the leader, which sends it to all agents.
struct Announce {
  std::string text;
  bool begins_stall = false;
  std::vector<int> ranks{};  ///< see `StallBegun`
};

// --- Leader to agent ----------------------------------------------------------------------------

/// The agent has joined the gang and waits for the start.
struct Admitted {
  std::optional<NodeRank> seat;          ///< its node rank; empty: a spare
  double heartbeat_timeout_seconds = 8;  ///< silence after which either end counts as lost
  bool runs_without_it = false;          ///< for a spare: the job has been started
};

/// The agent cannot join.
struct Refused {
  std::string reason;      ///< one sentence without a full stop
  bool may_retry = false;  ///< a later attempt may be admitted
};

/// Reports the progress of the wait for nodes.
struct Waiting {
  std::string progress;  ///< one sentence without a full stop
};

/// A chunk of a merged value. The values for a start are sent before it.
struct Merged {
  Chunk chunk;
};

/// End the workers of this attempt.
struct Stop {
  int attempt = 0;
  int signal = 15;                                        ///< first signal to the workers
  std::string reason;                                     ///< for the user
  std::optional<JobEnd> end;                              ///< empty: another attempt follows
  bool is_urgent = false;                                 ///< send SIGKILL
  std::optional<std::chrono::milliseconds> most_grace{};  ///< empty: the node's own
};

/// Tell the workers of this attempt that the job is to be suspended, or continues after all.
struct Suspend {
  int attempt = 0;
  SuspendNotice notice;
};

/// The job is over: report this end and exit.
struct Finish {
  JobEnd end;
};

using Message = std::variant<Join, InputStatus, Heartbeat, Failed, Succeeded, AttemptOver, StopFromAgent,
                             SuspendRequested, WorkSaved, StatusQuery, StatusReport, Announce, Hung, Contribute,
                             Admitted, Refused, Waiting, Merged, Start, Suspend, Stop, Finish>;

/// True for a chunk of a value, which other messages may overtake.
inline bool is_piece(const Message& message) {
  return std::holds_alternative<Contribute>(message) || std::holds_alternative<Merged>(message);
}

}  // namespace muster::gang
