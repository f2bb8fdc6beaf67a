#pragma once

// Quantities as Kubernetes writes them: "8", "500m", "1.5Gi", "2e3".

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::render {

/// Thousandths of a unit, rounded up; what is more than fits is the most that fits. Empty for anything that
/// Kubernetes would not read, and for what is below zero.
[[nodiscard]] std::optional<std::int64_t> parse_quantity(std::string_view text);

}  // namespace muster::render
