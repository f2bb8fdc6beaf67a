// Dials the leader, watches it by heartbeats, and says what a lost one means for this node.
#include "gang/protocol/leader_link.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {

LeaderLink::LeaderLink(Membership& membership, NodeAttempt& attempt, Instant now)
    : membership_(membership),
      attempt_(attempt),
      connect_retry_(membership.leader, membership.config.seed, membership.config.options.timeout, now),
      liveness_(membership.config.options.heartbeat_timeout, now) {}

void LeaderLink::dial() {
  connect_retry_.on_dial();
  membership_.actions.emplace_back(Dial{.may_lead = lost_while_spare_.empty()});
}

void LeaderLink::note_up(const LinkUp& up, Instant now) {
  membership_.is_leader = up.is_own;
  membership_.is_linked = true;
  membership_.state = ParticipantState::Joined;
  is_spare_ = false;
  liveness_.on_link(now);
}

void LeaderLink::on(const DialFailed& failed, Instant now) {
  if (failed.end) {
    membership_.leave(membership_.in_this_attempt(make_end(*failed.end, failed.why)));
  } else if (auto line = connect_retry_.on_failure(failed, now)) {
    membership_.actions.emplace_back(std::move(*line));
  }
}

void LeaderLink::on(const LinkDown& down, Instant now) {
  if (!std::exchange(membership_.is_linked, false)) {
    return;
  }
  if (membership_.has_run) {
    lose(down.why, now);
  } else if (membership_.known_end && liveness_.is_admitted()) {
    membership_.leave(*membership_.known_end);  // its inputs failed, and no leader can change that
  } else {
    seek(down.why, now);
    on(DialFailed{"the leader at " + membership_.leader + " " + down.why}, now);
  }
}

/// Dials again if nothing has been started: the leader may come back, or another one replace it. A spare of a running
/// job is lost together with its leader.
void LeaderLink::seek(const std::string& why, Instant now) {
  if (liveness_.is_admitted()) {
    const auto heartbeat_timeout = membership_.config.options.heartbeat_timeout;
    membership_.say(Level::Warning, job_has_started_ ? "lost the leader of this spare: looking for it for " +
                                                           whole_seconds(heartbeat_timeout)
                                                     : "lost the leader before the start: looking for it again");
    connect_retry_.begin_again(now);
    liveness_.forget();
    lost_while_spare_ =
        job_has_started_ ? standstill_.describe_loss("the leader at " + membership_.leader, why, now) : "";
    if (job_has_started_) {
      connect_retry_.give_up_at(now + heartbeat_timeout);
    }
  }
  membership_.state = ParticipantState::Connecting;
}

void LeaderLink::lose(const std::string& why, Instant now) {
  gone_by_ = must_be_gone();
  const auto most_grace = may_be_replaced() ? liveness_.time_without_leader(now) : std::nullopt;
  const std::string loss = standstill_.describe_loss("the leader at " + membership_.leader, why, now);
  attempt_.end_without_leader(loss + leaders_memory_.describe(now), most_grace);
}

void LeaderLink::cut_off(std::string why, Instant now) {
  membership_.actions.emplace_back(CloseLink{});
  on(LinkDown{std::move(why)}, now);
}

// --- What the leader says of the link -----------------------------------------------------------

void LeaderLink::take(const Admitted& admitted, Instant now) {
  liveness_.on_admitted(admitted.heartbeat_timeout_seconds, now);
  const bool was_spare = std::exchange(is_spare_, !admitted.seat);
  job_has_started_ = admitted.runs_without_it;
  lost_while_spare_.clear();
  if (membership_.is_leader || (was_spare && is_spare_)) {
    return;
  }
  if (admitted.seat) {
    membership_.say(Level::Debug,
                    "the leader at " + membership_.leader + " knows this node as node " + to_string(*admitted.seat));
  } else {
    membership_.say(Level::Info, "this node is a spare: it waits until the job needs it");
  }
}

void LeaderLink::take(const Refused& refused, Instant now) {
  membership_.actions.emplace_back(CloseLink{});
  membership_.is_linked = false;
  const std::string what = "refused this node: " + refused.reason;
  const std::string why = "the leader at " + membership_.leader + " " + what;
  if (membership_.has_run) {
    lose(what, now);
  } else if (refused.may_retry) {
    seek(what, now);
    on(DialFailed{why}, now);
  } else {
    membership_.leave(membership_.in_this_attempt(make_end(EndKind::NodeRefused, why)));
  }
}

void LeaderLink::take(const Heartbeat& beat, Instant now) {
  leaders_memory_.note(beat.memory, now);
  liveness_.on_answer();
}

// --- Timers -------------------------------------------------------------------------------------

std::optional<Instant> LeaderLink::next_wake() const {
  if (membership_.is_leader || membership_.state == ParticipantState::Left) {
    return std::nullopt;
  }
  if (membership_.is_linked) {
    Instant wake = liveness_.next_wake();
    if (!liveness_.is_admitted() && membership_.state == ParticipantState::Joined) {
      wake = std::min(wake, connect_retry_.deadline());
    }
    return membership_.has_workers() ? std::min(wake, must_be_gone()) : wake;
  }
  if (membership_.state != ParticipantState::Connecting) {
    return std::nullopt;  // the leader is lost, and only the end of the workers is awaited
  }
  return connect_retry_.next_wake();
}

void LeaderLink::send_heartbeat(Instant now) {
  if (!liveness_.take_heartbeat(now)) {
    return;
  }
  const MemoryUse memory = membership_.config.memory_use();
  membership_.send(Heartbeat{memory});
  if (memory.is_short()) {
    liveness_.hurry(now);
  }
}

void LeaderLink::on(const StoodStill& still, Instant now) {
  standstill_.note(still, liveness_.heartbeat_timeout(), now);
}

void LeaderLink::on(const Wake& /*wake*/, Instant now) {
  if (membership_.is_leader) {
    return;  // woken for the lease only
  }
  if (membership_.is_linked) {
    send_heartbeat(now);
    if (std::string silence = liveness_.silence(now); !silence.empty()) {
      cut_off(std::move(silence), now);
    } else if (membership_.has_workers() && now >= must_be_gone()) {
      cut_off(liveness_.describe_unanswered(now), now);
    }
    if (!liveness_.is_admitted() && membership_.state == ParticipantState::Joined && connect_retry_.is_in_vain(now)) {
      connect_retry_.on_silence();
      give_up(now);
    }
    return;
  }
  if (membership_.state != ParticipantState::Connecting) {
    return;
  }
  if (connect_retry_.is_in_vain(now)) {
    give_up(now);
    return;
  }
  if (auto line = connect_retry_.progress(now)) {
    membership_.actions.emplace_back(std::move(*line));
  }
  if (connect_retry_.is_dial_due(now)) {
    dial();
  }
}

void LeaderLink::give_up_soon(Instant now) {
  if (membership_.state == ParticipantState::Connecting) {
    connect_retry_.give_up_at(now + kTimeToTellWhy);
  }
}

void LeaderLink::give_up(Instant now) {
  if (membership_.known_end) {
    membership_.leave(*membership_.known_end);  // its inputs failed
  } else if (!lost_while_spare_.empty()) {
    membership_.leave(membership_.in_this_attempt(make_end(EndKind::Lost, lost_while_spare_)));
  } else {
    membership_.leave(membership_.in_this_attempt(make_end(EndKind::Incomplete, connect_retry_.describe_failure(now))));
  }
}

// --- Time that workers have without the leader --------------------------------------------------

/// True if the leader may continue without this node. It does not once the end is known.
bool LeaderLink::may_be_replaced() const {
  return !membership_.known_end && !membership_.is_leader;
}

Instant LeaderLink::must_be_gone() const {
  return may_be_replaced() ? liveness_.must_be_gone() : Instant::max();
}

Lease LeaderLink::lease() const {
  if (!attempt_.may_have_live_workers() || membership_.config.job.most_nodes == 1) {
    return {};
  }
  Lease lease{liveness_.heartbeat_timeout(), std::nullopt};
  if (const Instant gone_by = std::min(must_be_gone(), gone_by_); gone_by != Instant::max()) {
    lease.gone_by = gone_by + kAgentKillTime;
  }
  return lease;
}

}  // namespace muster::gang
