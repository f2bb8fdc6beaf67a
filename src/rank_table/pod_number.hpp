#pragma once

// The number that a pod's name ends with.

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::rank_table {

/// 12 of "job-worker-12"; empty: it ends with none, or with one of more than 18 digits.
[[nodiscard]] std::optional<std::uint64_t> pod_number(std::string_view pod_name);

}  // namespace muster::rank_table
