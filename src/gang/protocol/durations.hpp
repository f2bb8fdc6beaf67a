#pragma once

// Moments, and durations in the words of messages.

#include <chrono>
#include <string>

namespace muster::gang {

/// A moment of a monotonic clock.
using Instant = std::chrono::steady_clock::time_point;

/// An agent that has not what its job needs, such as a rank table that is right, is at its end, and stays so long:
/// a leader for those who are on their way, others for their leader. All are to hear why.
inline constexpr std::chrono::seconds kTimeToTellWhy{5};

[[nodiscard]] inline double seconds_of(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

/// "30 s".
[[nodiscard]] inline std::string whole_seconds(std::chrono::nanoseconds duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(duration).count()) + " s";
}

}  // namespace muster::gang
