#pragma once

// The pauses of the gang that grow: before a restart, and between two dials. One place for their
// values; docs/gang.md shows them, and a test compares.

#include <algorithm>
#include <chrono>

namespace muster::gang {

/// The longest pause before a restart, unless --restart-backoff itself is longer.
inline constexpr std::chrono::seconds kLongestBackoff{60};
/// Between the first two dials, before it is spread; it grows by half each time.
inline constexpr std::chrono::milliseconds kFirstDialPause{50};
inline constexpr std::chrono::milliseconds kLongestDialPause{1'000};

/// Before the k-th restart in a row: none, `first`, twice that, and so on.
[[nodiscard]] inline std::chrono::milliseconds restart_pause(int in_a_row,
                                                             std::chrono::milliseconds first) {
  if (in_a_row <= 1) {
    return std::chrono::milliseconds(0);
  }
  std::chrono::milliseconds pause = first;
  for (int i = 2; i < in_a_row && pause < kLongestBackoff; ++i) {
    pause *= 2;
  }
  return std::min(pause, std::max<std::chrono::milliseconds>(kLongestBackoff, first));
}

/// After the k-th dial in a row has failed.
[[nodiscard]] inline std::chrono::milliseconds dial_pause(int dials) {
  std::chrono::milliseconds pause = kFirstDialPause;
  for (int i = 1; i < dials && pause < kLongestDialPause; ++i) {
    pause = pause * 3 / 2;
  }
  return std::min(pause, kLongestDialPause);
}

}  // namespace muster::gang
