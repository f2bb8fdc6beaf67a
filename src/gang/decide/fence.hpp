#pragma once

// Until when something of a lost node may be alive. Part of the leader: pure.

#include "durations.hpp"

#include <algorithm>
#include <chrono>

namespace muster::gang {

/// An agent notices within the heartbeat timeout that the leader is lost, and its workers have one
/// more to end. It counts from the last beat that was answered, so never from later than the leader,
/// which counts from when it heard the node the last time.
class Fence {
 public:
  Fence(std::chrono::milliseconds heartbeat_timeout, Instant now)
      : length_(2 * heartbeat_timeout + kMargin), until_(now) {}

  /// A node on which workers may be alive is lost.
  void note_loss(Instant last_heard) { until_ = std::max(until_, last_heard + length_); }

  /// No attempt begins before.
  [[nodiscard]] Instant until() const { return until_; }

 private:
  /// For what is between deciding and doing, on both sides.
  static constexpr std::chrono::seconds kMargin{2};

  std::chrono::milliseconds length_;
  Instant until_;
};

}  // namespace muster::gang
