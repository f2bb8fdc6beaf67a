#pragma once

// The route plan of ROUTE_PLAN=true, as far as one node can tell: what it would do is told to the others, and
// done if all of them would (docs/rank-tables.md).

#include "inputs/input.hpp"
#include "rank_table/route_plan.hpp"

#include <string>
#include <variant>
#include <vector>

namespace muster {

/// What a node found.
struct RouteFinding {
  rank_table::RouteVote vote;
  std::vector<int> ranks;  ///< behind its digest; empty: it has none
};

/// The files that a plan may be in, as they were found.
struct RouteFiles {
  FileContent planned;   ///< the platform's planned table, beside the rank table
  FileContent topology;  ///< what the switches are
};

/// Pure: the platform's own plan first, by table and by place, then ours by the switches. The node is instance
/// `own` of the table. There is nothing to wait for but the topology.
[[nodiscard]] std::variant<RouteFinding, Pending> judge_route(
    const rank_table::RouteRequest& request,
    const rank_table::Table& table,
    std::size_t own,
    const RouteFiles& files);

/// Reads them. `table` is the path of the rank table.
[[nodiscard]] RouteFiles find_routes(const rank_table::RouteRequest& request,
                                     const std::string& table);

}  // namespace muster
