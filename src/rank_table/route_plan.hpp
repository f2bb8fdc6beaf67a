#pragma once

// ROUTE_PLAN=true of ModelArts: assigns ranks by the switches between the nodes, if all nodes agree on them. Sources:
// Huawei Cloud, ModelArts, "Enabling Dynamic Route Acceleration for Training Jobs"; davincirun of ModelArts' preset
// images; Volcano's ring controller (configmap1980), which writes the topology.

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

/// Reads the variables; empty unless ROUTE_PLAN is true.
[[nodiscard]] Result<std::optional<RouteRequest>> read_route_request(const Snapshot& snapshot);

/// A topology, or why it is incomplete, or why it is invalid for good.
using TopologyReading = std::variant<SwitchPaths, Unfinished, Error>;

/// Decodes a base64 text of a gzipped document, and reads it by `read_topology`.
TopologyReading decode_topology(std::string_view text, const std::string& name);

/// Reads servers whose devices have a `tor_ip`, the address of the switch that they are connected to. A node
/// connected to several switches is near the nodes connected to the same ones.
TopologyReading read_topology(std::string_view document, const std::string& name);

/// The name of the platform's planned table, beside the rank table.
inline constexpr const char* kPlannedTable = "jobstart_routeplan.json";

/// The ranks that a planned table gives to the devices of `table`, by instance and device. Fails if the devices of
/// the two tables differ.
[[nodiscard]] Result<std::vector<int>> planned_ranks(const Table& table, const Table& planned);

/// Why a route plan would not help this job, or harm it: too few servers, or partly used ones. Empty: it may help.
std::optional<std::string> reason_against_plan(const Table& table);

/// One node's proposal. At most one of the first three is set; none: the node was not asked for a plan.
struct RouteVote {
  std::string reason;           ///< why it has no plan, for people
  std::string digest;           ///< of the ranks that it proposes; empty: none
  std::optional<int> position;  ///< the node's own place, if it knows no complete plan
  int instance = 0;             ///< its instance in the table
  std::optional<int> first;     ///< the instance that it expects in the first place (MA_MASTER_INDEX)
};

std::string digest_of(const std::vector<int>& ranks);

/// The common decision of all nodes.
struct RouteDecision {
  bool applies = false;
  std::string reason;          ///< why there is no plan, for a text behind "because"; empty: no node was asked for one
  std::vector<int> positions;  ///< by instance, where only positions are known
};

/// Returns the plan that all nodes have, or why none is used. Pure; `votes` are in the order of node ranks.
RouteDecision decide_route(const std::vector<RouteVote>& votes);

/// The ranks where instance i is at `positions[i]`; the devices of each stay in their order.
std::vector<int> ranks_by_position(const Table& table, const std::vector<int>& positions);

}  // namespace muster::rank_table
