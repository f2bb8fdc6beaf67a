// What an agent makes of what its leader says.
#include "gang/protocol/message_encoding.hpp"
#include "gang/protocol/participant.hpp"

#include <csignal>
#include <utility>

namespace muster::gang {

void Participant::handle(const FromLeader& received, Instant now) {
  if (!is_linked_) {
    return;
  }
  liveness_.on_heard(now);
  std::visit([&](const auto& message) { take(message, now); }, received.message);
}

void Participant::take(const Heartbeat& /*beat*/, Instant /*now*/) {
  liveness_.on_answer();
}

void Participant::take(const Admitted& admitted, Instant now) {
  liveness_.on_admitted(admitted.heartbeat_timeout_seconds, now);
  const bool was_spare = std::exchange(is_spare_, !admitted.seat);
  runs_without_us_ = admitted.runs_without_it;
  lost_while_spare_.clear();
  if (is_leader_ || (was_spare && is_spare_)) {
    return;
  }
  log_line(admitted.seat ? Level::Debug : Level::Info,
           admitted.seat ? "the leader at " + leader_ + " knows this node as node " +
                               to_string(*admitted.seat)
                         : "this node is a spare: it waits until the job needs it");
}

void Participant::take(const Refused& refused, Instant now) {
  actions_.emplace_back(CloseLink{});
  is_linked_ = false;
  const std::string why = "the leader at " + leader_ + " refused this node: " + refused.reason;
  if (has_run_) {
    lose_leader("refused this node: " + refused.reason, now);
  } else if (refused.may_retry) {
    seek("refused this node: " + refused.reason, now);
    handle(DialFailed{why}, now);
  } else {
    leave(in_this_attempt(make_end(EndKind::NodeRefused, why)));
  }
}

void Participant::take(const Waiting& waiting, Instant /*now*/) {
  log_line(Level::Info, waiting.progress);
}

void Participant::take(const Start& start, Instant now) {
  const bool is_old = has_run_ && start.placement.attempt <= attempt_;
  if (has_workers() || is_old) {
    log_line(Level::Debug,
             "ignoring a start of attempt " + std::to_string(start.placement.attempt));
    return;
  }
  attempt_ = start.placement.attempt;
  Exchanged merged = contributions_.start(attempt_);
  has_run_ = true;
  local_failure_.reset();
  liveness_.on_start(self_signal_ ? 0 : start.orphan_limit_seconds);
  if (self_signal_) {  // the leader did not know yet that this agent was asked to end
    state_ = State::Over;
    send(Ended{attempt_, std::nullopt, std::nullopt});
    return;
  }
  if (now >= must_be_gone()) {  // we were stopped for long, and this was sent before
    cut_off("sent a start that is too old", now);
    return;
  }
  state_ = State::Running;
  are_workers_gone_ = false;
  liveness_.beat_soon(now);
  actions_.emplace_back(StartAttempt{start, std::move(merged)});
}

void Participant::take(const Stop& stop, Instant /*now*/) {
  if (stop.attempt != attempt_ || !has_run_) {
    return;  // of an attempt that is over
  }
  if (stop.end) {
    known_end_ = stop.end;
  }
  if (has_workers() && stop.is_urgent) {
    actions_.emplace_back(KillAttempt{});
  } else if (has_workers()) {
    stop_attempt(stop.signal,
                 stop.end ? still_to_say(*stop.end, stop.reason) : stop.reason,
                 stop.most_grace);
  }
}

void Participant::take(const Suspend& suspend, Instant /*now*/) {
  if (suspend.attempt == attempt_ && has_workers()) {
    actions_.emplace_back(NotifyWorkers{suspend.notice});
  }
}

void Participant::take(const StatusQuery& asked, Instant /*now*/) {
  actions_.emplace_back(DescribeStatus{asked.number});
}

void Participant::take(const StatusReport& report, Instant /*now*/) {
  actions_.emplace_back(StatusOfNode{report.text, report.missing});
}

void Participant::take(const Finish& finish, Instant /*now*/) {
  known_end_ = finish.end;
  if (has_workers()) {  // the leader gave up on us; it will not be waited for
    stop_attempt(SIGTERM, still_to_say(finish.end, finish.end.reason));
    return;
  }
  leave(finish.end);
}

template <typename Other>
void Participant::take(const Other& unexpected, Instant now) {
  cut_off(
      "sent the message '" + std::string(name_of(Message(unexpected))) + "', which no leader sends",
      now);
}

}  // namespace muster::gang
