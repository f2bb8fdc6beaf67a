#pragma once

// What ranks of MPI bring together over all nodes while they run: fences of PMIx.

#include <muster/gang/exchange.hpp>

namespace muster {

/// The key "pmix_fence": what the ranks of each node have to say, one behind the other by node rank.
[[nodiscard]] gang::ExchangeKey pmix_fence_key();

}  // namespace muster
