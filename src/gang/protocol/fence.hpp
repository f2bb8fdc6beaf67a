#pragma once

// Computes when the processes of a lost node are dead: killed by its agent, otherwise by its guard. Pure.

#include <algorithm>
#include <chrono>
#include <string>

namespace muster::gang {

// Time points, and durations for messages.

using Instant = std::chrono::steady_clock::time_point;

/// Time that an agent stays after its inputs have failed for good, such as by a wrong rank table, to tell the reason:
/// a leader tells nodes that are on their way, other agents tell their leader.
inline constexpr std::chrono::seconds kTimeToTellWhy{5};

inline double seconds_of(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

/// "30 s".
inline std::string whole_seconds(std::chrono::nanoseconds duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(duration).count()) + " s";
}

// The fence of a node, in time since the leader last heard from it; T is the heartbeat timeout:
//
//   T              the agent has noticed that its leader is lost, if it still runs
//   2 T            the agent SIGKILLs its workers: `LeaderLiveness::must_be_gone`
//   2 T + 1 s      its guard kills what is left, whatever the agent does: `Lease::gone_by`
//   2 T + 2 s      no process of the node is alive: the leader may start without it
//
// A stopped (SIGSTOP) agent whose leader is alive is killed earlier, T after its last heartbeat to the guard. The
// agent counts from its last heartbeat that the leader answered: never later than the leader, which counts from the
// last message of the node.

/// Time that an agent has to kill its workers before its guard kills them.
inline constexpr std::chrono::seconds kAgentKillTime{1};
/// Time that the guard needs to kill.
inline constexpr std::chrono::seconds kGuardKillTime{1};

/// Time by which all workers of a node must be dead, since its leader last heard from it.
inline std::chrono::milliseconds agents_limit(std::chrono::milliseconds heartbeat_timeout) {
  return 2 * heartbeat_timeout;
}

/// Time at which the guard of that node starts to kill.
inline std::chrono::milliseconds guards_limit(std::chrono::milliseconds heartbeat_timeout) {
  return agents_limit(heartbeat_timeout) + kAgentKillTime;
}

/// Time at which the leader may start without the node.
inline std::chrono::milliseconds leaders_limit(std::chrono::milliseconds heartbeat_timeout) {
  return guards_limit(heartbeat_timeout) + kGuardKillTime;
}

/// Decides how long the leader waits for processes that may be alive on lost nodes.
class Fence {
 public:
  Fence(std::chrono::milliseconds heartbeat_timeout, Instant now)
      : length_(leaders_limit(heartbeat_timeout)), until_(now) {}

  /// A node is lost on which workers may be alive.
  void note_loss(Instant last_heard) { until_ = std::max(until_, last_heard + length_); }

  /// No attempt starts earlier.
  Instant until() const { return until_; }

 private:
  std::chrono::milliseconds length_;
  Instant until_;
};

}  // namespace muster::gang
