#pragma once

// Finds out that this process has not run for a while (SIGSTOP, a frozen container or machine), and describes what the
// other nodes make of it. Pure.

#include "gang/protocol/fence.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace muster::gang {

/// This process has not run for `length`, counted from the last thing that it did: the other nodes have heard nothing since.
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

/// Remembers a standstill that was so long that the other nodes had to give this node up.
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
