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

/// One decision: its value, and the bare name of the source that it was read from.
struct Decision {
  std::string field;
  std::string value;
  std::string source;
};

/// A value that looked relevant and was not used.
struct UnusedValue {
  std::string field;  ///< the decision that it would have made; empty: no single field
  Sourced<std::string> seen;
  std::string why;  ///< "MASTER_IP is the address that others can reach"
};

/// The nodes of the job, and which of them this one is.
struct Cluster {
  std::string platform;  ///< one of platform_names()
  JobFacts job;
  NodeFacts node;                                 ///< this node
  std::optional<HostShare> share;                 ///< this node's share of its host; empty: it has the host to itself
  std::vector<std::optional<std::string>> hosts;  ///< one per node; empty where no source names it
  Source slots_from;                              ///< source of this node's number of slots
  std::vector<int> slots;                         ///< one per node: this node's, and what the others should have
  std::string master_address;                     ///< where agents and workers meet
  std::string master_address_from;                ///< its source, for people
  std::optional<std::uint16_t> master_port;       ///< the rendezvous; empty: one node needs none
  std::optional<std::uint16_t> worker_port;       ///< empty: a fresh one is chosen at start
  std::uint16_t gang_port = 0;                    ///< where the agents meet; 0 for one node
  std::string gang_port_option;                   ///< the option by which a person gave this port; empty: nobody did
  std::string secret_file;                        ///< a secret that all nodes share; empty: none
  int max_restarts = 0;                           ///< how often all workers may be started again
  int platform_restarts = 0;                      ///< how often the platform has started the job again
  bool has_task_config = false;                   ///< the tasks come from a TF_CONFIG: scripts read that
  std::vector<std::string> notices;               ///< what the user should read once at the start
  std::vector<Decision> decisions;                ///< how these values were found, in this order
  std::vector<UnusedValue> lost;                  ///< relevant values that were not used

  /// A node without a rank is placed as if it were node 0.
  NodeRank assumed_rank() const { return node.rank.value_or(NodeRank{0}); }
};

/// Facts of the mode that the nodes must agree on, or that the description depends on.
struct ModeFacts {
  std::string name;
  std::string digest;  ///< of the template's content
  /// The roles whose number may be given, in the order in which agents are numbered over them;
  /// without any, --roles is an error and task lists are not read.
  std::vector<std::string> roles;
  std::vector<std::string> success_roles;  ///< from the user; empty: from the template
  bool is_users_own = false;               ///< a template of the user's own, which may resemble any built-in mode
  /// The workers meet on the rendezvous port, if one is given, and the agents on a port next to it.
  bool takes_given_port = false;
  std::string role_name = {};  ///< NodeFacts::role_name
};

/// Describes the nodes of the job. Asks each platform reader, most specific first; the user's values replace the
/// platform's, field by field.
///
/// Fails when a value is no plain number, a rank is not below its count, two sources contradict each other, or a
/// required value has no source: `BadUsage` if an option is involved, else `BadEnvironment`. The error names both
/// variables and both values.
[[nodiscard]] Result<Cluster> describe_cluster(const Snapshot& snapshot, const ClusterRequest& request,
                                               const ModeFacts& mode);

/// Describes the nodes from settings, for the mode that the platform asks for, with these roles.
[[nodiscard]] Result<Cluster> describe_cluster(const Snapshot& snapshot, const Settings& settings,
                                               const std::vector<std::string>& roles = {});

/// All values about nodes in these surroundings, for cases in which nothing could be decided.
std::vector<UnusedValue> seen_of_nodes(const Snapshot& snapshot, const std::string& why);

/// A variable that describes nodes and names no platform: RANK, WORLD_SIZE, TF_CONFIG and the like.
struct BareSign {
  Source source;
  bool is_whole = false;          ///< with the related variables it describes a node that others can reach
  bool is_list_of_tasks = false;  ///< it is a task list of TensorFlow
};

/// A bare variable that would describe the nodes here if no platform's own variables do.
std::optional<BareSign> find_bare_sign(const Snapshot& snapshot, const Settings& settings);

/// True when another launcher has set these variables for one of its workers: LOCAL_RANK and LOCAL_WORLD_SIZE are
/// plain integers. (The Ascend operator's LOCAL_RANK is a list, and no such sign.)
bool is_already_worker(const Snapshot& snapshot);

/// The names that `--platform` takes.
std::vector<std::string> platform_names();

}  // namespace muster
