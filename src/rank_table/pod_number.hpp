#pragma once

// The number that a pod's name ends with.

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::rank_table {

/// 12 of "job-worker-12"; empty: what follows the last '-' is no number, as the hash in "job-0-xk5d7", or has
/// more than 18 digits.
[[nodiscard]] std::optional<std::uint64_t> pod_number(std::string_view pod_name);

}  // namespace muster::rank_table
