// Beats and silence between an agent and its leader, on the agent's side.
#include "gang/protocol/touch.hpp"

#include <algorithm>

namespace muster::gang {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kPatienceToJoin{30};

milliseconds milliseconds_of(double length) {
  return milliseconds(static_cast<milliseconds::rep>(length * 1'000));
}

}  // namespace

LeaderLiveness::LeaderLiveness(milliseconds heartbeat_timeout, Instant now)
    : heartbeat_timeout_(heartbeat_timeout), next_beat_(now), last_heard_(now), confirmed_(now) {}

void LeaderLiveness::on_link(Instant now) {
  last_heard_ = now;
  confirmed_ = now;
  unanswered_.clear();
  next_beat_ = now + beat_interval();
}

void LeaderLiveness::on_admitted(double heartbeat_timeout_seconds, Instant now) {
  is_admitted_ = true;
  heartbeat_timeout_ = milliseconds_of(heartbeat_timeout_seconds);
  next_beat_ = now + beat_interval();
}

void LeaderLiveness::on_answer() {
  if (!unanswered_.empty()) {
    confirmed_ = unanswered_.front();
    unanswered_.pop_front();
  }
}

void LeaderLiveness::on_start(double orphan_limit_seconds) {
  orphan_limit_.reset();
  if (orphan_limit_seconds > 0) {
    orphan_limit_ = milliseconds_of(orphan_limit_seconds);
  }
}

void LeaderLiveness::beat_soon(Instant now) {
  next_beat_ = std::min(next_beat_, now + beat_interval());
}

Instant LeaderLiveness::next_wake() const {
  return std::min(next_beat_, last_heard_ + silence_limit());
}

bool LeaderLiveness::take_beat(Instant now) {
  if (now - next_beat_ > beat_interval()) {  // we were stopped: what the leader said is unread
    last_heard_ = std::min(last_heard_ + (now - next_beat_), now);
  }
  if (now < next_beat_) {
    return false;
  }
  next_beat_ = now + beat_interval();
  unanswered_.push_back(now);
  return true;
}

Instant LeaderLiveness::must_be_gone() const {
  return orphan_limit_ ? confirmed_ + heartbeat_timeout_ + *orphan_limit_ : Instant::max();
}

std::optional<milliseconds> LeaderLiveness::time_without_leader(Instant now) const {
  if (!orphan_limit_) {
    return std::nullopt;
  }
  const auto left = std::chrono::duration_cast<milliseconds>(must_be_gone() - now);
  return std::clamp(left, milliseconds(0), *orphan_limit_);
}

std::string LeaderLiveness::silence(Instant now) const {
  return now - last_heard_ >= silence_limit() ? "was silent for " + whole_seconds(silence_limit())
                                              : std::string();
}

std::string LeaderLiveness::describe_unanswered(Instant now) const {
  return "did not answer for " + whole_seconds(now - confirmed_);
}

/// Before it knows us the leader may be busy with thousands of others, and nothing is at stake.
milliseconds LeaderLiveness::silence_limit() const {
  return is_admitted_ ? heartbeat_timeout_
                      : std::max<milliseconds>(heartbeat_timeout_, kPatienceToJoin);
}

}  // namespace muster::gang
