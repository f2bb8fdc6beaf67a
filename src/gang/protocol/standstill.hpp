#pragma once

// Finds out that this process was stopped for a while (SIGSTOP, a frozen container or machine), and explains link
// losses that follow from it. Pure.

#include "gang/protocol/fence.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace muster::gang {

/// This process has not run for `length`. It counts from its last action: since then others have heard nothing.
struct StoodStill {
  Instant::duration length{};
};

/// Compares when this process wakes up with when it had to wake up at the latest.
class StandstillWatch {
 public:
  /// The process begins to wait. Empty: no timer wakes it up.
  void note_rest(Instant now, std::optional<Instant> wake) {
    rests_since_ = now;
    wake_ = wake;
  }
  /// The process wakes up. Empty: not too late.
  std::optional<StoodStill> note_turn(Instant now) const;

 private:
  Instant rests_since_;
  std::optional<Instant> wake_;
};

/// Remembers a standstill after which the other nodes had to take this node for lost.
class Standstill {
 public:
  void note(const StoodStill& still, std::chrono::milliseconds heartbeat_timeout, Instant now);
  /// Describes the loss of a link to `whom`, which "closed the connection". After a standstill nobody knows whether the other
  /// end was lost or has given this node up, so the standstill stands first.
  std::string describe_loss(const std::string& whom, const std::string& why, Instant now) const;
  /// True while a link that is lost was probably lost because of the standstill.
  bool explains_losses(Instant now) const { return now < until_; }

 private:
  std::string description_;
  Instant until_ = Instant::min();
};

}  // namespace muster::gang
