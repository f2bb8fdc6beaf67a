#pragma once

// What the nodes of a job tell each other about ROUTE_PLAN: what each would do becomes what all do.

#include "gang/exchange_values.hpp"
#include "rank_table/route_plan.hpp"

#include <string_view>

namespace muster {

/// The key "route_plan". A node contributes its vote, encoded; one that contributes nothing was not asked to
/// plan anything.
[[nodiscard]] gang::ExchangeKey route_key();

/// What came out of it. Fails with `BadData` for anything else.
[[nodiscard]] Result<rank_table::RouteDecision> read_route_decision(std::string_view merged);

}  // namespace muster
