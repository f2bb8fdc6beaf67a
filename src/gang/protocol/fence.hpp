#pragma once

// Until when something of a lost node may be alive, and who sees to it that nothing is. Pure.

#include <algorithm>
#include <chrono>
#include <string>

namespace muster::gang {

// Moments, and durations in the words of messages.

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

// The fence of a node, in time since the leader heard it last; T is the heartbeat timeout:
//
//   T              the agent has noticed that its leader is lost, if it still moves
//   2 T            the agent KILLs its workers: `Touch::must_be_gone`
//   2 T + 1 s      its guard kills what is left, whatever the agent does: `Lease::gone_by`
//   2 T + 2 s      nothing of the node is alive: the leader may start without it
//
// An agent that does not move while its leader is there is ended earlier, T after its last beat to the guard. It counts from the
// last beat that the leader answered, so never from later than the leader, which counts from when it heard the node the last time.

/// An agent that has to end its workers has done it after this time, or its guard does it.
inline constexpr std::chrono::seconds kAgentsTimeToKill{1};
/// And so long the guard takes.
inline constexpr std::chrono::seconds kGuardsTimeToKill{1};

/// When all workers of a node must be gone, in time since its leader heard it last.
[[nodiscard]] inline std::chrono::milliseconds agents_limit(std::chrono::milliseconds heartbeat_timeout) {
  return 2 * heartbeat_timeout;
}

/// When the guard of that node begins to kill.
[[nodiscard]] inline std::chrono::milliseconds guards_limit(std::chrono::milliseconds heartbeat_timeout) {
  return agents_limit(heartbeat_timeout) + kAgentsTimeToKill;
}

/// When the leader may start without the node.
[[nodiscard]] inline std::chrono::milliseconds leaders_limit(std::chrono::milliseconds heartbeat_timeout) {
  return guards_limit(heartbeat_timeout) + kGuardsTimeToKill;
}

/// Until when the leader waits for what may be alive on lost nodes.
class Fence {
 public:
  Fence(std::chrono::milliseconds heartbeat_timeout, Instant now)
      : length_(leaders_limit(heartbeat_timeout)), until_(now) {}

  /// A node on which workers may be alive is lost.
  void note_loss(Instant last_heard) { until_ = std::max(until_, last_heard + length_); }

  /// No attempt begins before.
  [[nodiscard]] Instant until() const { return until_; }

 private:
  std::chrono::milliseconds length_;
  Instant until_;
};

}  // namespace muster::gang
