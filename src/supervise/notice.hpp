#pragma once

// How much time a notice leaves to the workers. Pure.

#include <chrono>

namespace muster {

/// Between asking the workers to end, when their time to save is over, and killing them.
inline constexpr std::chrono::milliseconds kLastGrace{1'000};

/// What the workers have of a platform's time: it kills `limit` after its notice, and our kill comes before.
[[nodiscard]] std::chrono::milliseconds time_to_save(std::chrono::milliseconds limit);

}  // namespace muster
