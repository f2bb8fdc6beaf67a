#pragma once

// Holds the options of the gang: joining, restarts, heartbeats and the choice of the leader.

#include "gang/events.hpp"
#include "gang/exchange_values.hpp"
#include "gang/link_check.hpp"
#include "gang/net/token.hpp"
#include "gang/preflight_values.hpp"
#include "platforms/facts.hpp"
#include "platforms/placement.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster::gang {

/// Limits of restarts, and pauses before them. Only the leader's values are used.
struct RestartPolicy {
  int max_restarts = 0;
  std::optional<std::chrono::milliseconds> window;  ///< older restarts do not count; empty: all do
  std::chrono::milliseconds backoff{1'000};         ///< before the second restart in a row
  int no_progress_limit = 3;                        ///< attempts in a row; 0: no limit
  std::string progress_file;                        ///< empty: progress is inferred from how attempts fail
};

/// Reaction to a rank that exits with 0 while others still run.
enum class OnEarlyExit {
  Wait,
  Fail
};

/// The time at which the job takes in nodes that arrive while it runs, if it has room for them.
enum class ScaleUp {
  AtRestart,  ///< with the next restart for another reason
  Now         ///< the job restarts for them
};

/// The choice whether the nodes are compared when they meet.
enum class ComparesNodes {
  Auto,      ///< if the job has three nodes or more; the leader's choice counts
  Strictly,  ///< as Auto, but before the start, and without nodes whose differences are fatal
  Never
};

struct PreflightChoice {
  ComparesNodes compares = ComparesNodes::Auto;
  bool is_full = false;         ///< this node also looks up names and writes files to tell more facts
  bool measures_links = false;  ///< the nodes measure the links between them; the leader's choice counts

  bool operator==(const PreflightChoice&) const = default;
};

/// Choice of the leader. A job of one node leads itself and does not listen.
enum class Lead {
  Never,             ///< another agent leads
  Always,            ///< this agent has node rank 0
  IfAddressIsLocal,  ///< the agent that owns the address and gets the port leads
  /// As `IfAddressIsLocal`. If no node owns the address, as with a Service or a published port, the agent leads that
  /// another agent of the job reaches through it.
  IfReached
};

/// Options for how the agents of a job join, detect losses, restart and end.
struct GangOptions {
  std::chrono::milliseconds timeout{900'000};          ///< for all nodes to join
  std::chrono::milliseconds inputs_timeout{600'000};   ///< for input files that another program writes
  std::chrono::milliseconds last_call{30'000};         ///< for more nodes, once the minimum is here
  std::chrono::milliseconds heartbeat_timeout{8'000};  ///< silence after which a peer counts as lost
  RestartPolicy restarts;
  std::chrono::milliseconds suspend_timeout{60'000};  ///< for saving, after a notice
  ScaleUp scale_up = ScaleUp::AtRestart;
  PreflightChoice preflight;
  std::string preflight_command;  ///< each node runs the command of its own option before an attempt; empty: none
  std::chrono::milliseconds preflight_timeout{60'000};  ///< for that command; the leader's counts
  int node_failures = 0;     ///< a spare replaces a node that has failed by itself this often; 0: never
  std::string bad_nodes;     ///< file of nodes that failed by themselves; empty: none
  std::string machine;       ///< name of this node's machine; empty: the host name is used
  std::optional<Lead> lead;  ///< empty: node rank 0 leads; without node ranks, the owner of the address
  OnEarlyExit on_early_exit = OnEarlyExit::Wait;
  /// Time that ranks may run on after the first exit with 0; empty: no limit.
  std::optional<std::chrono::milliseconds> early_exit_timeout;
  std::string token_file;  ///< file with the token; empty: no token, or it is in `token`
  std::string token;       ///< a secret: never printed, never passed to a worker
};

// Configuration of an agent, leader or not. Known before the nodes meet.

struct GangConfig {
  JobFacts job;    ///< must be equal on all nodes
  NodeFacts node;  ///< this node
  GangOptions options;
  std::string version;    ///< of the program, for messages
  std::string host;       ///< name or address where the gang meets
  std::string host_from;  ///< source of `host`, for messages
  std::uint16_t port = 0;
  std::string port_option;  ///< the option that gave the port, for the message that the port is taken; may be empty
  std::vector<std::optional<std::string>> hosts;  ///< by node rank, if the platform names them
  ExchangeKeys keys;                              ///< equal on all nodes
  std::string waits_for;                          ///< missing inputs of this node; empty: it is ready
  /// Limit of a leader's links to other nodes and spares; its limit of open files allows no more.
  std::size_t most_links = std::numeric_limits<std::size_t>::max();
  int earlier_runs = 0;      ///< runs of the job that this node knows of; the leader's count is used
  std::string last_verdict;  ///< verdict of the last earlier run; empty: unknown
  /// The leader's function for the sorted ranks of the node in a place; empty: only that node knows them.
  std::function<std::vector<int>(const Placement&)> ranks_at{};
  JudgeFacts judge_facts{};          ///< empty: nodes are not asked for their facts
  JudgeLinks judge_links{};          ///< empty: nodes do not measure the links between them
  std::vector<BadNode> bad_nodes{};  ///< of earlier jobs, for the leader
  /// Memory of this node, for its heartbeats.
  std::function<MemoryUse()> memory_use = [] { return MemoryUse{}; };
  std::uint64_t seed = 0;  ///< differs between agents, to spread the dials of thousands of them
};

/// Role and key of an agent in its job.
struct GangSetup {
  Lead lead = Lead::Always;
  std::shared_ptr<const GangKey> key;  ///< empty: links are not encrypted
  GangConfig config;
  std::size_t most_strangers = 64;  ///< limit of a leader's links to peers outside the job
};

}  // namespace muster::gang
