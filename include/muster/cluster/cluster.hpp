#pragma once

#include <muster/base/ranks.hpp>
#include <muster/base/result.hpp>
#include <muster/cluster/facts.hpp>
#include <muster/environment/snapshot.hpp>
#include <muster/options/settings.hpp>

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

/// Who the nodes of the job are, and which of them this is.
struct Cluster {
  std::string platform;                           ///< one of platform_names()
  int nodes = 1;                                  ///< the most that take part, at least 1
  int least_nodes = 1;                            ///< with fewer the job does not start
  NodeRank node_rank;                             ///< below `nodes`
  bool has_node_rank = true;                      ///< false: it goes by arrival, and is 0 here
  std::vector<std::optional<std::string>> hosts;  ///< one per node; empty where nobody names it
  std::vector<int> slots;                         ///< workers per node, one entry per node
  std::string master_address;                     ///< where agents and workers meet
  std::optional<std::uint16_t> master_port;       ///< the rendezvous; empty: one node needs none
  std::optional<std::uint16_t> worker_port;       ///< empty: a fresh one is chosen at start
  std::uint16_t gang_port = 0;                    ///< where the agents meet; 0 for one node
  std::string job_id = "none";                    ///< torchrun's default where no source names one
  std::string secret_file;                        ///< a secret that all nodes share; empty: none
  int max_restarts = 0;                           ///< how often all workers may be started again
  /// By --roles or a platform's task lists; empty: as the template says. Processes are dealt to the
  /// nodes one by one, role after role: the k-th is on node k modulo `nodes`.
  std::vector<RoleSize> roles;
  /// Where they listen if the platform has decided it; empty: ports are reserved at start.
  std::vector<RoleEndpoints> endpoints;
  bool has_task_config = false;     ///< the tasks come from a TF_CONFIG: scripts read that
  std::optional<int> total_slots;   ///< complete with so many workers on whatever nodes; msrun
  std::vector<Decision> decisions;  ///< how each of these was found, in this order

  [[nodiscard]] int local_slots() const { return slots[static_cast<std::size_t>(node_rank.value)]; }
};

/// Finds out who the nodes are. Asks each platform reader, most specific first; a flag or a
/// MUSTER_* variable replaces what the platform says, field by field.
///
/// Fails when a value is no plain number, when a rank is not below its count, when two sources
/// contradict each other, or when nobody says what must be known: `BadUsage` if a flag is part of
/// it, else `BadEnvironment`. Both variables and both values are named.
///
/// `roles` are those of the mode whose number may be given, in the order in which agents are numbered
/// over them; without any, --roles is an error and task lists are not read.
[[nodiscard]] Result<Cluster> describe_cluster(const Snapshot& snapshot,
                                               const Settings& settings,
                                               const std::vector<std::string>& roles = {});

/// How often all workers may be started again: --max-restarts, else torchrun's PET_MAX_RESTARTS,
/// which is honoured on every platform, else 0.
[[nodiscard]] Result<Sourced<int>> read_max_restarts(const Snapshot& snapshot,
                                                     const Settings& settings);

/// True when these variables were made by another launcher for one of its workers: LOCAL_RANK and
/// LOCAL_WORLD_SIZE are plain integers. (The Ascend operator's LOCAL_RANK is a list: no worker.)
[[nodiscard]] bool is_already_worker(const Snapshot& snapshot);

/// The names that `--platform` takes.
[[nodiscard]] std::vector<std::string> platform_names();

}  // namespace muster
