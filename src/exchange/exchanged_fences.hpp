#pragma once

// What ranks of MPI bring together over all nodes while they run: fences of PMIx.

#include "gang/exchange_values.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// The key "pmix_fence": what the ranks of each node have to say, one behind the other by node rank.
[[nodiscard]] gang::ExchangeKey pmix_fence_key();

/// What a node contributes: what its ranks have said, or that this one of them will never say anything.
[[nodiscard]] std::string write_fence_part(std::string_view said);
[[nodiscard]] std::string write_absent_rank(int rank);

/// What has become of a fence.
struct FenceEnd {
  std::optional<int> absent_rank;  ///< it will never be over, since this rank has ended
  std::string_view said;           ///< by all ranks
};
/// Views into `merged`. Fails with `BadData`.
[[nodiscard]] Result<FenceEnd> read_fence_end(std::string_view merged);

}  // namespace muster
