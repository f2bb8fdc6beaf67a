#pragma once

// Exchanges rank tables and route plans between the nodes of a job: checks that all tables are the same, or makes one
// table from what each node has; and turns votes on ROUTE_PLAN into one decision.

#include "gang/exchange_values.hpp"
#include "rank_table/compare.hpp"
#include "rank_table/rank_table.hpp"
#include "rank_table/route_plan.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The result when all nodes have the same table.
struct SameTable {
  std::string digest;
  /// Address that other nodes can reach, by `server_id`; only for nodes that have named theirs.
  std::map<std::string, std::string> pod_addresses;
};

/// A node's part of its table.
struct PartOfTable {
  std::vector<int> ranks;           ///< of its workers
  std::string server_id = {};       ///< if others need its address
  std::optional<int> version = {};  ///< as the controller counts it
  int most_nodes = 0;               ///< the largest number of nodes of the job
};

/// The key "rank_table". Contributions of `write_summary` merge into a `SameTable`; those of `write_server` into the
/// text of a table of all servers.
[[nodiscard]] gang::ExchangeKey rank_table_key();

/// Encodes a summary. Each rank must belong to one node. While tables differ in version, the nodes wait for the
/// newest one.
[[nodiscard]] std::string write_summary(const rank_table::Summary& summary, const PartOfTable& part);
/// Fails with `BadData`.
[[nodiscard]] Result<SameTable> read_same_table(std::string_view merged);

/// Encodes a server. An empty `server_id` becomes the address that others reach, or `host` if that address is local
/// to this machine.
[[nodiscard]] std::string write_server(const rank_table::Instance& server, const std::string& host);

/// The key "route_plan". A node contributes its encoded vote, or nothing when it was not asked to plan.
[[nodiscard]] gang::ExchangeKey route_key();

/// Parses the decision. Fails with `BadData` for any other content.
[[nodiscard]] Result<rank_table::RouteDecision> read_route_decision(std::string_view merged);

}  // namespace muster
