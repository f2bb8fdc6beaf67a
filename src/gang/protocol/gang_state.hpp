#pragma once

// Holds the job as its leader knows it. The parts of the leader share it, and each has a state of its own beside it.

#include "base/log.hpp"
#include "base/result.hpp"
#include "gang/gang_config.hpp"
#include "gang/protocol/current_attempt.hpp"
#include "gang/protocol/exchange.hpp"
#include "gang/protocol/fence.hpp"
#include "gang/protocol/leader_events.hpp"
#include "gang/protocol/node_failures.hpp"
#include "gang/protocol/restart_decider.hpp"
#include "gang/protocol/roster.hpp"
#include "supervise/job_end.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster::gang {

/// State of the job; docs/architecture.md has the table.
enum class LeaderState {
  Rendezvous,  ///< waits for nodes
  Running,     ///< an attempt runs
  Stopping,    ///< the attempt is being ended on every node
  Resting,     ///< no process of the attempt is left; the next one waits
  Finishing,   ///< all agents have been sent the end
  Finished
};

struct GangState {
  GangState(GangConfig given, Instant now);

  void send(LinkId link, Message message);
  void send(std::vector<LinkId> links, Message message);
  /// Closes the link once everything is sent.
  void drop(LinkId link);
  void say(Level level, std::string text);

  /// Adds the leader's record of the whole job.
  JobEnd recorded(JobEnd given) const;
  JobEnd end_of(const Failure& failure) const;
  /// The end of a job whose nodes' values cannot be merged, because of `why`.
  static JobEnd end_of(const Error& why);
  /// Counts a failure against a node, and tells all nodes if it makes the node suspect. `reason`: see `Suspect`.
  void note_node_failure(NodeRank rank, const NodeName& name, std::string reason);
  /// Has a suspect node kept for later jobs, with --bad-nodes.
  void keep_bad_node(NodeRank rank, const NodeName& name);

  /// "node 3 (gpu-3) is listed in 'bad-nodes' until 2026-12-06T07:50:41Z: lost"; empty: no earlier job has listed it.
  std::string describe_listed(NodeRank rank, const NodeName& name) const;

  /// "2 to 4 nodes".
  std::string describe_nodes() const;
  /// Size of the job: "4 nodes", "2 to 4 nodes", "8 workers".
  std::string describe_size() const;

  /// True if the job may restart to take in new nodes. False after a rank has exited with 0, because its work would be done
  /// twice, and in a job whose size is a number of workers, because it is complete.
  bool can_scale_up() const;
  /// True if another attempt may follow.
  bool can_start_again() const;

  /// The leader's own address at which the other nodes have reached it, even if a name or a service led them to it. A
  /// job of one node uses the configured host.
  std::string workers_address(const std::vector<LinkId>& nodes) const;
  /// The nodes with their addresses. A node that has left has none. A peer that connected over loopback is on this
  /// machine, and gets the leader's address.
  std::vector<ExchangeNode> exchange_nodes(const std::vector<LinkId>& nodes) const;

  GangConfig config;
  LeaderState state = LeaderState::Rendezvous;
  Roster roster;
  ExchangeServer exchange;
  CurrentAttempt attempt;
  EarlyExit early_exit;
  RestartDecider restart_decider;
  Fence fence;
  NodeFailures node_failures;
  std::optional<JobEnd> end;  ///< set: no other attempt follows
  GangRecord record;
  LeaderActions actions;
};

}  // namespace muster::gang
