#pragma once

#include "base/ranks.hpp"
#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "options/settings.hpp"
#include "platforms/facts.hpp"
#include "platforms/request.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// One thing that was decided, its value, and the bare name of what it was read from.
struct Decision {
  std::string field;
  std::string value;
  std::string source;
};

/// Something else that was seen, looked relevant, and was not used.
struct UnusedValue {
  std::string field;  ///< the decision that it would have made; empty: of no one field
  Sourced<std::string> seen;
  std::string why;  ///< "MASTER_IP is the address that others can reach"
};

/// Who the nodes of the job are, and which of them this is.
struct Cluster {
  std::string platform;  ///< one of platform_names()
  JobFacts job;
  NodeFacts node;                                 ///< this one
  std::optional<HostShare> share;                 ///< of its host; empty: it has that to itself
  std::vector<std::optional<std::string>> hosts;  ///< one per node; empty where nobody names it
  Source slots_from;                              ///< who says how many this node has
  std::vector<int> slots;                         ///< one per node: ours, and what the others should have
  std::string master_address;                     ///< where agents and workers meet
  std::string master_address_from;                ///< who says so, for people
  std::optional<std::uint16_t> master_port;       ///< the rendezvous; empty: one node needs none
  std::optional<std::uint16_t> worker_port;       ///< empty: a fresh one is chosen at start
  std::uint16_t gang_port = 0;                    ///< where the agents meet; 0 for one node
  std::string secret_file;                        ///< a secret that all nodes share; empty: none
  int max_restarts = 0;                           ///< how often all workers may be started again
  int platform_restarts = 0;                      ///< how often the platform has started the job again
  bool has_task_config = false;                   ///< the tasks come from a TF_CONFIG: scripts read that
  std::vector<std::string> notices;               ///< what the user should read once at the start
  std::vector<Decision> decisions;                ///< how each of these was found, in this order
  std::vector<UnusedValue> lost;                  ///< what else was seen

  /// A node without a rank is placed as if it were node 0.
  [[nodiscard]] NodeRank assumed_rank() const { return node.rank.value_or(NodeRank{0}); }
};

/// What of the mode the nodes must agree on, or the cluster goes by.
struct ModeFacts {
  std::string name;
  std::string digest;  ///< of the template's content
  /// The roles whose number may be given, in the order in which agents are numbered over them;
  /// without any, --roles is an error and task lists are not read.
  std::vector<std::string> roles;
  std::vector<std::string> success_roles;  ///< as the user says; empty: as the template does
  bool is_users_own = false;               ///< a template of the user's own: it may be like any built-in mode
  /// The workers meet at the rendezvous, if a port is given for it, and the agents beside it.
  bool takes_given_port = false;
  std::string role_name = {};  ///< see NodeFacts
};

/// Finds out who the nodes are. Asks each platform reader, most specific first; what the user says
/// replaces what the platform says, field by field.
///
/// Fails when a value is no plain number, when a rank is not below its count, when two sources
/// contradict each other, or when nobody says what must be known: `BadUsage` if a flag is part of
/// it, else `BadEnvironment`. Both variables and both values are named.
[[nodiscard]] Result<Cluster> describe_cluster(const Snapshot& snapshot, const ClusterRequest& request,
                                               const ModeFacts& mode);

/// The same from settings, for the mode that the platform asks for, with these roles.
[[nodiscard]] Result<Cluster> describe_cluster(const Snapshot& snapshot, const Settings& settings,
                                               const std::vector<std::string>& roles = {});

/// All that speaks of nodes in these surroundings, where nothing could be decided.
[[nodiscard]] std::vector<UnusedValue> seen_of_nodes(const Snapshot& snapshot, const std::string& why);

/// A variable that describes nodes and names no platform: RANK, WORLD_SIZE, TF_CONFIG and the like.
struct BareSign {
  Source source;
  bool is_whole = false;          ///< with what stands beside it a node is described that others can meet
  bool is_list_of_tasks = false;  ///< of TensorFlow's
};

/// One by which the nodes would be known here, where no platform's own variables do that.
[[nodiscard]] std::optional<BareSign> find_bare_sign(const Snapshot& snapshot, const Settings& settings);

/// True when these variables were made by another launcher for one of its workers: LOCAL_RANK and
/// LOCAL_WORLD_SIZE are plain integers. (The Ascend operator's LOCAL_RANK is a list: no worker.)
[[nodiscard]] bool is_already_worker(const Snapshot& snapshot);

/// The names that `--platform` takes.
[[nodiscard]] std::vector<std::string> platform_names();

}  // namespace muster
