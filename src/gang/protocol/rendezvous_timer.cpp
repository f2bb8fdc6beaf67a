// Implements the deadlines of one wait for nodes.
#include "gang/protocol/rendezvous_timer.hpp"

#include <algorithm>

namespace muster::gang {

namespace {

/// Shorter waits are not logged.
constexpr std::chrono::seconds kFirstProgress{5};
constexpr std::chrono::seconds kLaterProgress{30};
/// Names are resolved this long before the deadline, so that the answer is there in time.
constexpr std::chrono::seconds kLookUpAhead{3};

}  // namespace

void LastCall::note(bool can_go_on, bool is_needed, Instant now, Instant latest) {
  if (!can_go_on) {
    cancel();
  } else if (!is_needed) {
    end_ = std::min(now, end_.value_or(now));
  } else if (!end_) {
    end_ = std::min(now + length_, latest);
  }
}

void RendezvousTimer::begin(Instant now) {
  since_ = now;
  deadline_ = now + timeout_;
  last_call_.cancel();
  pending_until_.reset();
  end_at_.reset();
  next_progress_ = now + kFirstProgress;
  looked_up_ = false;
  unresolved_.clear();
}

Instant RendezvousTimer::next_wake() const {
  Instant wake = std::min(deadline_, next_progress_);
  for (const auto& moment : {last_call_.end(), pending_until_, end_at_}) {
    wake = std::min(wake, moment.value_or(wake));
  }
  return looked_up_ ? wake : std::min(wake, deadline_ - kLookUpAhead);
}

void RendezvousTimer::note_pending(bool is_pending, Instant now) {
  if (!is_pending) {
    pending_until_.reset();
  } else if (!pending_until_) {
    pending_until_ = now + inputs_timeout_;
  }
}

bool RendezvousTimer::take_progress(Instant now) {
  if (now < next_progress_ || now >= deadline_) {
    return false;
  }
  next_progress_ = now + kLaterProgress;
  return true;
}

bool RendezvousTimer::take_resolve(Instant now) {
  if (looked_up_ || now < deadline_ - kLookUpAhead) {
    return false;
  }
  looked_up_ = true;
  return true;
}

}  // namespace muster::gang
