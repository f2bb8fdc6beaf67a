// Decides whether a late wake-up is a standstill, and how long it explains lost links.
#include "gang/protocol/standstill.hpp"

namespace muster::gang {
namespace {

/// A delay that is no standstill: a busy machine delays a timer by less.
constexpr std::chrono::seconds kLateWake{1};

}  // namespace

std::optional<StoodStill> StandstillWatch::note_turn(Instant now) const {
  const bool is_late = wake_ && now - *wake_ >= kLateWake;
  return is_late ? std::optional(StoodStill{now - rests_since_}) : std::nullopt;
}

/// Remembers the standstill until lost links must have been noticed: after one timeout, and two looks.
void Standstill::note(const StoodStill& still, std::chrono::milliseconds heartbeat_timeout, Instant now) {
  if (still.length < heartbeat_timeout) {
    return;
  }
  until_ = now + 2 * heartbeat_timeout;
  description_ = "this node stood still for " + whole_seconds(still.length) +
                 " (SIGSTOP, a frozen container or machine), and the other nodes give a node up after " +
                 whole_seconds(heartbeat_timeout) + ": ";
}

std::string Standstill::describe_loss(const std::string& whom, const std::string& why, Instant now) const {
  return explains_losses(now) ? description_ + whom + " " + why : whom + " was lost: it " + why;
}

}  // namespace muster::gang
