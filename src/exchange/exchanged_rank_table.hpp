#pragma once

// What the nodes of a job tell each other about rank tables: what their tables say, so that all are known
// to be the same; or, where there is none, what each node has, of which one table is made for all.

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

/// What all nodes know when their tables are the same.
struct SameTable {
  std::string digest;
  /// By `server_id`, where the nodes have named theirs: an address of it that the others reach.
  std::map<std::string, std::string> pod_addresses;
};

/// What a node has of its table.
struct PartOfTable {
  std::vector<int> ranks;           ///< its workers'
  std::string server_id = {};       ///< if others need its address
  std::optional<int> version = {};  ///< as the controller counts it
  int most_nodes = 0;               ///< that the job can have
};

/// The key "rank_table". What `write_summary` has written on each node becomes a `SameTable`; what
/// `write_server` has, the text of the table that is made of the nodes' servers.
[[nodiscard]] gang::ExchangeKey rank_table_key();

/// Each rank must be one node's. While tables differ and have different versions the nodes wait for the newest
/// one.
[[nodiscard]] std::string write_summary(const rank_table::Summary& summary, const PartOfTable& part);
/// Fails with `BadData`.
[[nodiscard]] Result<SameTable> read_same_table(std::string_view merged);

/// Where its `server_id` is empty it becomes the address that the others reach; `host` where that is one of
/// this machine alone.
[[nodiscard]] std::string write_server(const rank_table::Instance& server, const std::string& host);

// What the nodes of a job tell each other about ROUTE_PLAN: what each would do becomes what all do.

/// The key "route_plan". A node contributes its vote, encoded; one that contributes nothing was not asked to
/// plan anything.
[[nodiscard]] gang::ExchangeKey route_key();

/// What came out of it. Fails with `BadData` for anything else.
[[nodiscard]] Result<rank_table::RouteDecision> read_route_decision(std::string_view merged);

}  // namespace muster
