#pragma once

// ROUTE_PLAN=true of ModelArts: ranks by the switches between the nodes, if all nodes agree on them.
// Sources: Huawei Cloud, ModelArts, "Enabling Dynamic Route Acceleration for Training Jobs"; davincirun
// of ModelArts' preset images; Volcano's ring controller (configmap1980), which writes the topology.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "rank_table/rank_table.hpp"
#include "rank_table/topology.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster::rank_table {

/// What the surroundings of a node say.
struct RouteRequest {
  std::string topology_file;    ///< TOPO_FILE_PATH
  int wait_seconds = 300;       ///< ROUTE_TOPO_WAIT_TIME
  std::optional<int> position;  ///< RANK_AFTER_ACC: this node's place in the platform's own plan
  std::optional<int> first;     ///< MA_MASTER_INDEX: the index of the node that is first there
};

/// Nothing unless ROUTE_PLAN is true.
[[nodiscard]] Result<std::optional<RouteRequest>> read_route_request(const Snapshot& snapshot);

/// A topology, or why there is none yet, or why there never will be one.
using TopologyReading = std::variant<SwitchPaths, Unfinished, Error>;

/// Base64 of what gzip made of a document for `read_topology`.
[[nodiscard]] TopologyReading decode_topology(std::string_view text, const std::string& name);

/// Servers whose devices have a `tor_ip`, the address of the switch that they hang on. Nodes whose devices
/// hang on several switches are near those that hang on the same ones.
[[nodiscard]] TopologyReading read_topology(std::string_view document, const std::string& name);

/// The name of the platform's planned table, beside the rank table.
inline constexpr const char* kPlannedTable = "jobstart_routeplan.json";

/// The ranks that a planned table gives the devices of a table, by instance and device. Fails where its
/// devices are others.
[[nodiscard]] Result<std::vector<int>> planned_ranks(const Table& table, const Table& planned);

/// Why other ranks would be of no use to this job, or harm: it has too few servers, or fills them partly.
[[nodiscard]] std::optional<std::string> reason_to_skip(const Table& table);

/// What one node would do. Exactly one of the first three is there; none: it was not asked to do anything.
struct RouteVote {
  std::string reason;           ///< why it has no plan, for people
  std::string digest;           ///< of the ranks that it would give; empty: none
  std::optional<int> position;  ///< its place in a plan that nobody has as a whole
  int instance = 0;             ///< which one of the table it is
  std::optional<int> first;     ///< the instance that it takes for the first one
};

[[nodiscard]] std::string digest_of(const std::vector<int>& ranks);

/// For the exchange: at most `kMostVoteBytes`.
inline constexpr std::size_t kMostVoteBytes = 2048;
[[nodiscard]] std::string encode(const RouteVote& vote);
[[nodiscard]] Result<RouteVote> decode_vote(std::string_view bytes);

/// What all nodes do.
struct RouteDecision {
  bool applies = false;
  std::string reason;          ///< why not, for people; empty: nobody was asked to
  std::vector<int> positions;  ///< by instance, where only positions are known
};

/// Pure: the plan that all have, or why it is left. In the order of node ranks.
[[nodiscard]] RouteDecision decide_route(const std::vector<RouteVote>& votes);

/// The ranks where instance i is at `positions[i]`; the devices of each stay in their order.
[[nodiscard]] std::vector<int> ranks_by_position(const Table& table, const std::vector<int>& positions);

}  // namespace muster::rank_table
