#pragma once

// Judges the files of a rank table: whether it is complete, and whether a route plan (ROUTE_PLAN=true) fits it.

#include "environment/snapshot.hpp"
#include "inputs/input_files.hpp"
#include "rank_table/route_plan.hpp"

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace muster {

/// Returns the judge of a job's rank table, by the rules that the surroundings ask for.
JudgeTable table_judge(const Snapshot& snapshot);

// Judges the route plan from one node's view. The nodes exchange their findings; the plan is used if all nodes can use
// it (docs/rank-tables.md).

/// One node's view of the route plan, which it sends to the others.
struct RouteFinding {
  rank_table::RouteVote vote;
  std::vector<int> ranks;  ///< the ranks in the vote's digest; empty: it has none
};

/// Files that may hold a plan, as they were read.
struct RouteFiles {
  FileContent planned;   ///< the platform's planned table, beside the rank table
  FileContent topology;  ///< description of the switches
};

/// Judges the files. Pure. A plan of the platform is used if there is one: a planned table, else the places that it
/// gives to devices. Otherwise muster plans by the switches. `own`: this node's instance of the table. Pending only
/// while the topology file is missing.
std::variant<RouteFinding, Pending> judge_route(const rank_table::RouteRequest& request, const rank_table::Table& table,
                                                std::size_t own, const RouteFiles& files);

/// Reads the files. `table` is the path of the rank table.
RouteFiles find_routes(const rank_table::RouteRequest& request, const std::string& table);

}  // namespace muster
