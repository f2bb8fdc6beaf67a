#pragma once

// What agents and their leader say to each other: one struct a message. docs/gang.md has the order.

#include <muster/base/node_ports.hpp>
#include <muster/base/ranks.hpp>
#include <muster/base/result.hpp>
#include <muster/supervise/job_end.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster::gang {

/// Raised when a message changes in a way that an older agent would misread.
inline constexpr int kProtocol = 1;

// --- From an agent to the leader ----------------------------------------------------------------

/// The first message on a link: who wants to join which job.
struct Join {
  int protocol = kProtocol;
  std::string version;                ///< of the program, for messages
  std::string job_id;                 ///< must be the leader's
  std::string incarnation;            ///< 16 hexadecimal digits, new for each start of an agent
  std::optional<NodeRank> node_rank;  ///< empty: the leader assigns one
  int least_nodes = 1;                ///< with most_nodes: must be the leader's
  int most_nodes = 1;
  std::string mode;                  ///< must be the leader's
  int slots = 1;                     ///< workers that this node can start
  std::string host;                  ///< name, for messages
  double waited_seconds = 0;         ///< since the agent was started
  double grace_seconds = 30;         ///< that its workers have to end
  std::vector<std::uint16_t> ports;  ///< reserved on this node for workers that listen
  /// Workers with which the job is complete, on however many nodes; 0: nodes are counted. Must be
  /// the leader's.
  int total_slots = 0;
};

/// Says "I am alive"; the leader answers with the same.
struct Beat {};

/// A worker failed, and it is the first one of this node in this attempt.
struct Failed {
  int attempt = 0;
  Failure failure;
};

/// A worker that decides success ended with 0. Sent for the first one of a node, for the last, and
/// for global rank 0; a node on which no worker decides sends it at its start, without a pid.
struct Succeeded {
  int attempt = 0;
  GlobalRank global_rank;
  LocalRank local_rank;
  std::string role;
  pid_t pid = -1;
  double run_time_seconds = 0;
  bool is_last = false;  ///< every worker of this node that decides success has ended with 0
};

/// Nothing of the attempt is alive on this node any more.
struct Ended {
  int attempt = 0;
  std::optional<Failure> failure;     ///< the first of this node, now with its last lines
  std::optional<bool> made_progress;  ///< what --progress-file shows; empty: there is none
  bool gave_up = false;               ///< but for something that could not be killed
};

/// A signal from outside reached this agent: it leaves, or the job ends.
struct StopAsked {
  int signal = 0;
  bool is_urgent = false;  ///< a second one: nobody waits for any grace
};

// --- From the leader to an agent ----------------------------------------------------------------

/// The agent belongs to the gang: it waits for the start.
struct Admitted {
  std::optional<NodeRank> seat;          ///< its node rank; empty: a spare
  double heartbeat_timeout_seconds = 8;  ///< silence that means loss, both ways
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

/// Where the workers of all nodes listen in the attempt that starts next. Only sent where a node has
/// reserved ports: it grows with the number of nodes, and everybody is sent the same.
struct Ports {
  int attempt = 0;
  std::vector<NodePorts> nodes;  ///< by node rank; without a host: where the workers meet
};

/// Start the workers of this node.
struct Start {
  int attempt = 0;
  NodeRank node_rank;
  int nodes = 1;
  int slots_before = 0;  ///< on nodes of lower rank
  int slots_total = 1;
  std::string master_address;     ///< where the workers meet; empty: as the plan says
  std::uint16_t worker_port = 0;  ///< 0: as the plan says
  /// When the leader is lost, the workers must be gone so many seconds later, because the job goes
  /// on without this node. 0: they have their whole grace.
  double orphan_limit_seconds = 0;
  /// By node rank; empty when no node has reserved any. Not sent with this message: the agent has
  /// them from `Ports`, which came before.
  std::vector<NodePorts> ports;
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
                             Beat,
                             Failed,
                             Succeeded,
                             Ended,
                             StopAsked,
                             Admitted,
                             Refused,
                             Waiting,
                             Ports,
                             Start,
                             Stop,
                             Finish>;

/// The most ports that one node, and that all nodes together may have reserved; and the most nodes of
/// a job in which some are.
inline constexpr std::size_t kMostPortsOfNode = 4'096;
inline constexpr std::size_t kMostPortsOfJob = 65'536;
inline constexpr std::size_t kMostNodesWithPorts = 16'384;

/// The most bytes of any encoded message. A `Ports` needs as much: a node takes up to 90 bytes (an
/// address of version 6 with its interface) and 6 for each port.
inline constexpr std::size_t kMostMessageBytes = std::size_t{2} << 20U;
/// Of a message that is no `Ports`, so of whatever an agent may send.
inline constexpr std::size_t kMostWordBytes = std::size_t{256} << 10U;
/// Of a `Join`, which a stranger may send: names of 255 bytes, and the ports of one node.
inline constexpr std::size_t kMostJoinBytes = std::size_t{32} << 10U;

/// The message as JSON. Texts are made valid UTF-8 and so short that the whole fits the limits.
[[nodiscard]] std::string encode(const Message& message);

/// A name (of a job, a mode, a host) as the other end reads it: valid UTF-8, short, one line.
[[nodiscard]] std::string as_sent(const std::string& name);

/// Reads a message. Fails with `BadData`, saying which field is missing, of the wrong kind or out
/// of range. Unknown fields are ignored, unknown messages are not.
[[nodiscard]] Result<Message> decode(std::string_view text);

/// What is too much in it to be sent; empty: nothing.
[[nodiscard]] std::string describe_excess(const Ports& ports);

/// The name of the message on the wire, such as "join".
[[nodiscard]] const char* name_of(const Message& message);

}  // namespace muster::gang
