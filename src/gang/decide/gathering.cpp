// Deadlines of one wait for nodes.
#include "gathering.hpp"

#include <algorithm>

namespace muster::gang {
namespace {

using std::chrono::seconds;

/// Short waits pass in silence.
constexpr seconds kFirstProgress{5};
constexpr seconds kProgressInterval{30};
/// Names are looked up so long before the deadline, so that the answer is there in time.
constexpr seconds kLookUpAhead{3};

}  // namespace

void Gathering::begin(Instant now) {
  since_ = now;
  deadline_ = now + timeout_;
  last_call_.reset();
  pending_until_.reset();
  end_at_.reset();
  next_progress_ = now + kFirstProgress;
  looked_up_ = false;
  unresolved_.clear();
}

Instant Gathering::next_wake() const {
  Instant wake = std::min(deadline_, next_progress_);
  if (last_call_) {
    wake = std::min(wake, *last_call_);
  }
  for (const auto& moment : {pending_until_, end_at_}) {
    wake = std::min(wake, moment.value_or(wake));
  }
  return looked_up_ ? wake : std::min(wake, deadline_ - kLookUpAhead);
}

void Gathering::note_enough(bool is_enough, bool is_last_call_needed, Instant now) {
  if (!is_enough) {
    last_call_.reset();
  } else if (!is_last_call_needed) {
    last_call_ = std::min(now, last_call_.value_or(now));
  } else if (!last_call_) {
    last_call_ = std::min(now + last_call_length_, deadline_);
  }
}

void Gathering::note_pending(bool is_pending, Instant now) {
  if (!is_pending) {
    pending_until_.reset();
  } else if (!pending_until_) {
    pending_until_ = now + inputs_timeout_;
  }
}

bool Gathering::take_progress(Instant now) {
  if (now < next_progress_ || now >= deadline_) {
    return false;
  }
  next_progress_ = now + kProgressInterval;
  return true;
}

bool Gathering::take_look_up(Instant now) {
  if (looked_up_ || now < deadline_ - kLookUpAhead) {
    return false;
  }
  looked_up_ = true;
  return true;
}

}  // namespace muster::gang
