// Implements an agent's handling of its link, its node's events, the exchange and the leader's messages. The header
// has the state diagram.
#include "gang/protocol/participant.hpp"

#include "base/endpoint.hpp"
#include "base/signals.hpp"
#include "gang/protocol/message_encoding.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace muster::gang {

using std::chrono::milliseconds;

Participant::Participant(GangConfig config, Instant now)
    : config_(std::move(config)),
      leader_(join_endpoint(config_.host, std::to_string(config_.port))),
      waits_for_(config_.waits_for),
      contributions_(config_.keys),
      connect_retry_(leader_, config_.seed, config_.options.timeout, now),
      liveness_(config_.options.heartbeat_timeout, now),
      last_turn_(now),
      started_(now) {
  config_.job = normalized(std::move(config_.job));
}

ParticipantActions Participant::start() {
  dial();
  return std::exchange(actions_, {});
}

ParticipantActions Participant::on(const ParticipantEvent& event, Instant now) {
  last_turn_ = now;
  if (state_ != State::Left) {
    std::visit([&](const auto& happened) { handle(happened, now); }, event);
  }
  return std::exchange(actions_, {});
}

/// A lease is renewed as often as heartbeats are sent.
std::optional<Instant> Participant::next_wake() const {
  const auto event = next_event();
  const auto limit = lease().limit;
  if (!limit) {
    return event;
  }
  const Instant renewal = last_turn_ + *limit / 4;
  return event ? std::min(*event, renewal) : renewal;
}

std::optional<Instant> Participant::next_event() const {
  if (is_leader_ || state_ == State::Left) {
    return std::nullopt;
  }
  if (is_linked_) {
    Instant wake = liveness_.next_wake();
    if (!liveness_.is_admitted() && state_ == State::Joined) {
      wake = std::min(wake, connect_retry_.deadline());
    }
    return has_workers() ? std::min(wake, must_be_gone()) : wake;
  }
  if (state_ != State::Connecting) {
    return std::nullopt;  // the leader is lost, and only the end of the workers is awaited
  }
  return connect_retry_.next_wake();
}

Lease Participant::lease() const {
  if (!has_workers() || are_workers_gone_ || config_.job.most_nodes == 1) {
    return {};
  }
  Lease lease{liveness_.heartbeat_timeout(), std::nullopt};
  if (const Instant gone_by = std::min(must_be_gone(), gone_by_); gone_by != Instant::max()) {
    lease.gone_by = gone_by + kAgentKillTime;
  }
  return lease;
}

std::string Participant::awaited() const {
  switch (state_) {
    case State::Connecting:
      return "the leader at " + leader_;
    case State::Joined:
      return "the start of the job";
    case State::Over:
      return "what follows the attempt";
    case State::Running:
    case State::Stopping:
    case State::Left:
      break;
  }
  return {};
}

// --- Link to the leader -------------------------------------------------------------------------

void Participant::handle(const LinkUp& up, Instant now) {
  is_leader_ = up.is_own;
  is_linked_ = true;
  is_spare_ = false;
  liveness_.on_link(now);
  Join join;
  join.version = config_.version;
  join.job = config_.job;
  join.node = config_.node;
  join.waits_for = waits_for_;
  join.contributes = contributions_.names();
  join.incarnation = connect_retry_.incarnation();
  join.waited_seconds = std::chrono::duration<double>(now - started_).count();
  state_ = State::Joined;
  send(std::move(join));
  if (known_end_) {  // its inputs failed before it had a leader
    send(InputStatus{known_end_->reason, known_end_->exit_code});
  }
  for (Contribute& chunk : contributions_.introduce()) {
    send(std::move(chunk));
  }
}

void Participant::handle(const DialFailed& failed, Instant now) {
  if (failed.is_final) {
    leave(in_this_attempt(make_end(EndKind::SystemRefused, failed.why)));
    return;
  }
  log_line(connect_retry_.on_failure(failed.why, now));
}

void Participant::handle(const LinkDown& down, Instant now) {
  if (!is_linked_) {
    return;
  }
  is_linked_ = false;
  if (has_run_) {
    lose_leader(down.why, now);
  } else if (known_end_ && liveness_.is_admitted()) {
    leave(*known_end_);  // its inputs failed, and no leader can change that
  } else {
    seek(down.why, now);
    handle(DialFailed{"the leader at " + leader_ + " " + down.why}, now);
  }
}

/// Dials again, as nothing has been started: the leader may come back, or another one may replace it. A spare of a
/// running job is lost with its leader.
void Participant::seek(const std::string& why, Instant now) {
  if (liveness_.is_admitted()) {
    log_line(Level::Warning, runs_without_us_ ? "lost the leader of this spare: looking for it for " +
                                                    whole_seconds(config_.options.heartbeat_timeout)
                                              : "lost the leader before the start: looking for it again");
    connect_retry_.begin_again(now);
    liveness_.forget();
    lost_while_spare_ = runs_without_us_ ? "the leader at " + leader_ + " was lost: it " + why : "";
    if (runs_without_us_) {
      connect_retry_.give_up_at(now + config_.options.heartbeat_timeout);
    }
  }
  state_ = State::Connecting;
}

void Participant::dial() {
  connect_retry_.on_dial();
  actions_.emplace_back(Dial{.may_lead = lost_while_spare_.empty()});
}

void Participant::lose_leader(const std::string& why, Instant now) {
  const std::string reason = "the leader at " + leader_ + " was lost: it " + why;
  gone_by_ = must_be_gone();
  const auto most_grace = may_be_replaced() ? liveness_.time_without_leader(now) : std::nullopt;
  if (!known_end_) {
    known_end_ = in_this_attempt(self_signal_ ? end_by_signal(*self_signal_) : make_end(EndKind::Lost, reason));
    known_end_->first_failure = self_signal_ ? std::nullopt : local_failure_;
    // The report is logged with the end.
    log_line(self_signal_ ? Level::Error : Level::Debug, reason);
  }
  if (has_workers()) {
    stop_attempt(SIGTERM, unlogged_reason(*known_end_, reason), most_grace);
  } else {
    leave(*known_end_);
  }
}

/// True if the leader may continue without this node. It does not once the end is known.
bool Participant::may_be_replaced() const {
  return !known_end_ && !is_leader_;
}

Instant Participant::must_be_gone() const {
  return may_be_replaced() ? liveness_.must_be_gone() : Instant::max();
}

void Participant::cut_off(std::string why, Instant now) {
  actions_.emplace_back(CloseLink{});
  handle(LinkDown{std::move(why)}, now);
}

// --- Events of this node ------------------------------------------------------------------------

void Participant::handle(const NodeEvent& event, Instant now) {
  std::visit([&](const auto& happened) { handle(happened, now); }, event);
}

void Participant::handle(const Failure& failure, Instant /*now*/) {
  if (state_ == State::Running) {
    state_ = State::Stopping;
    local_failure_ = failure;
    send(Failed{attempt_, failure});
  }
}

void Participant::handle(const Succeeded& worker, Instant /*now*/) {
  if (state_ == State::Running) {
    Succeeded message = worker;
    message.attempt = attempt_;
    send(std::move(message));
  }
}

void Participant::handle(const WorkersGone& /*gone*/, Instant /*now*/) {
  are_workers_gone_ = true;
}

void Participant::handle(const AttemptOver& over, Instant /*now*/) {
  state_ = State::Over;
  if (over.failure) {
    local_failure_ = over.failure;
  }
  if (!is_linked_) {
    leave(*known_end_);
    return;
  }
  AttemptOver message = over;
  message.attempt = attempt_;
  send(std::move(message));
}

void Participant::handle(const InputsChanged& inputs, Instant /*now*/) {
  if (waits_for_ != inputs.waits_for) {
    waits_for_ = inputs.waits_for;
    send(InputStatus{waits_for_});
  }
}

/// The leader tells all nodes. Without a leader, the join reports the failure if a leader is found soon: the leader's
/// node may have the same failure, and then it exits.
void Participant::handle(const InputsFailed& failed, Instant now) {
  if (known_end_) {
    return;  // the job was lost before
  }
  if (state_ == State::Connecting) {
    connect_retry_.give_up_at(now + kTimeToTellWhy);
  }
  known_end_ = in_this_attempt(make_end(failed.kind, failed.why));
  waits_for_ = failed.why;
  send(InputStatus{failed.why, known_end_->exit_code});
}

/// A person who repeats a request means "now". Schedulers send theirs to every node, so the same signal here and there
/// is one request.
void Participant::handle(const StopSignal& stop, Instant /*now*/) {
  const bool is_known = self_signal_ || (signal_elsewhere_ && signal_elsewhere_ != stop.signal);
  const bool is_urgent = is_known && is_from_keyboard(stop.signal);
  urgent_stops_ += is_urgent ? 1 : 0;
  self_signal_ = self_signal_.value_or(stop.signal);
  const bool limits_grace = is_known && stop.most_grace;  // the leader tells all nodes, this one too
  if (has_workers() && !stop.workers_know && !limits_grace) {
    actions_.emplace_back(PassSignal{stop.signal});
  }
  send(StopFromAgent{stop.signal, is_urgent, stop.most_grace});
  if (has_workers()) {
    return;
  }
  // The leader informs the other nodes before it leaves. No node waits for an agent without workers, unless the agent
  // does not know yet how the job ended.
  const bool awaits_the_end =
      (is_leader_ && urgent_stops_ < 2) || (state_ == State::Over && !known_end_ && urgent_stops_ == 0);
  if (!awaits_the_end) {
    leave(known_end_ ? *known_end_ : in_this_attempt(end_by_signal(*self_signal_)));
  }
}

/// Before the gang is complete no process runs that could save anything.
void Participant::handle(const SuspendRequested& request, Instant /*now*/) {
  if (state_ == State::Connecting && !request.is_withdrawn) {
    leave(in_this_attempt(make_end(EndKind::Suspended, "suspended (" + request.source + "): the nodes had not met")));
    return;
  }
  send(request);
}

void Participant::handle(const WorkSaved& saved, Instant /*now*/) {
  if (state_ == State::Running) {
    send(WorkSaved{attempt_, saved.process});
  }
}

/// Without a leader only the status of this node is known.
void Participant::handle(const StatusQuery& wanted, Instant now) {
  is_linked_ ? send(wanted) : take(wanted, now);
}

void Participant::handle(const StatusReport& ready, Instant now) {
  is_linked_ ? send(ready) : take(ready, now);
}

void Participant::handle(const Announced& announced, Instant now) {
  const Announce line{announced.text, announced.stall.has_value(),
                      announced.stall ? announced.stall->ranks : std::vector<int>()};
  is_linked_ ? send(line) : take(line, now);
}

void Participant::handle(const Hung& hung, Instant /*now*/) {
  if (is_linked_ && state_ == State::Running) {
    send(Hung{attempt_, hung.why, hung.ranks});
  }
}

void Participant::handle(const GuardGone& /*gone*/, Instant /*now*/) {
  known_end_ = in_this_attempt(end_by_signal(SIGKILL));
  is_linked_ = false;
  actions_.emplace_back(CloseLink{});
  if (has_workers()) {
    state_ = State::Stopping;
    actions_.emplace_back(KillAttempt{});
  } else {
    leave(*known_end_);
  }
}

/// A loss is logged once: with the end, if it ended the job.
std::string Participant::unlogged_reason(const JobEnd& end, const std::string& reason) {
  return end.verdict == Verdict::Lost ? std::string() : reason;
}

void Participant::stop_attempt(int signal, std::string reason, std::optional<milliseconds> most_grace) {
  state_ = State::Stopping;
  actions_.emplace_back(StopAttempt{signal, std::move(reason), most_grace});
}

// --- Timers -------------------------------------------------------------------------------------

void Participant::handle(const Wake& /*wake*/, Instant now) {
  if (is_leader_) {
    return;  // woken for the lease only
  }
  if (is_linked_) {
    send_heartbeats(now);
    if (!liveness_.is_admitted() && state_ == State::Joined && connect_retry_.is_in_vain(now)) {
      connect_retry_.on_silence();
      give_up(now);
    }
    return;
  }
  if (state_ != State::Connecting) {
    return;
  }
  if (connect_retry_.is_in_vain(now)) {
    give_up(now);
    return;
  }
  log_line(connect_retry_.progress(now));
  if (connect_retry_.is_dial_due(now)) {
    dial();
  }
}

void Participant::send_heartbeats(Instant now) {
  if (liveness_.take_heartbeat(now)) {
    send(Heartbeat{});
  }
  if (std::string silence = liveness_.silence(now); !silence.empty()) {
    cut_off(std::move(silence), now);
  } else if (has_workers() && now >= must_be_gone()) {
    cut_off(liveness_.describe_unanswered(now), now);
  }
}

void Participant::give_up(Instant now) {
  if (known_end_) {
    leave(*known_end_);  // its inputs failed
  } else if (!lost_while_spare_.empty()) {
    leave(in_this_attempt(make_end(EndKind::Lost, lost_while_spare_)));
  } else {
    leave(in_this_attempt(make_end(EndKind::Incomplete, connect_retry_.describe_failure(now))));
  }
}

// --- End ----------------------------------------------------------------------------------------

void Participant::leave(JobEnd end) {
  if (std::exchange(is_linked_, false)) {
    actions_.emplace_back(CloseLink{});
  }
  state_ = State::Left;
  actions_.emplace_back(Leave{std::move(end)});
}

JobEnd Participant::in_this_attempt(JobEnd end) const {
  end.attempt = attempt_;
  return end;
}

void Participant::send(Message message) {
  if (is_linked_) {
    actions_.emplace_back(SendToLeader{std::move(message)});
  }
}

void Participant::log_line(Level level, std::string text) {
  log_line(LogLine{level, std::move(text)});
}

void Participant::log_line(std::optional<LogLine> log_line) {
  if (log_line) {
    actions_.emplace_back(std::move(*log_line));
  }
}

// An agent's part in the exchange.

/// Values for the start are sent to each leader; values of an attempt only while it runs.
void Participant::handle(const Contributed& contributed, Instant /*now*/) {
  std::vector<Contribute> chunks;
  if (contributions_.is_before_start(contributed.key)) {
    chunks = contributions_.keep(contributed.key, contributed.bytes);
  } else if (state_ == State::Running) {
    chunks = contributions_.contribute(contributed.key, contributed.bytes, contributed.nodes);
  }
  for (Contribute& chunk : chunks) {
    send(std::move(chunk));
  }
}

void Participant::take(const Merged& merged, Instant now) {
  auto value = contributions_.take(merged);
  if (!value) {
    cut_off(value.error().message, now);
  } else if (*value && state_ == State::Running) {
    actions_.emplace_back(std::move(**value));
  }
}

// Messages of the leader.

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
           admitted.seat ? "the leader at " + leader_ + " knows this node as node " + to_string(*admitted.seat)
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
    log_line(Level::Debug, "ignoring a start of attempt " + std::to_string(start.placement.attempt));
    return;
  }
  if (start.placement.slots_here > config_.node.slots) {
    cut_off("sent a start of " + std::to_string(start.placement.slots_here) + " slots, but this node has offered " +
                std::to_string(config_.node.slots),
            now);
    return;
  }
  attempt_ = start.placement.attempt;
  Exchanged merged = contributions_.start(attempt_);
  has_run_ = true;
  local_failure_.reset();
  liveness_.on_start(self_signal_ ? 0 : start.orphan_limit_seconds);
  if (self_signal_) {  // the leader did not know yet that this agent got a signal
    state_ = State::Over;
    send(AttemptOver{attempt_, std::nullopt, std::nullopt});
    return;
  }
  if (now >= must_be_gone()) {  // this process was stopped for long, and the start was sent before
    cut_off("sent a start that is too old", now);
    return;
  }
  state_ = State::Running;
  are_workers_gone_ = false;
  liveness_.heartbeat_soon(now);
  actions_.emplace_back(StartAttempt{start, std::move(merged)});
}

void Participant::take(const Stop& stop, Instant /*now*/) {
  if (stop.attempt != attempt_ || !has_run_) {
    return;  // of an attempt that is over
  }
  if (stop.end) {
    known_end_ = stop.end;
    signal_elsewhere_ = stop.end->verdict == Verdict::Stopped ? std::optional(stop.signal) : std::nullopt;
  }
  if (has_workers() && stop.is_urgent) {
    actions_.emplace_back(KillAttempt{});
  } else if (has_workers()) {
    stop_attempt(stop.signal, stop.end ? unlogged_reason(*stop.end, stop.reason) : stop.reason, stop.most_grace);
  }
}

void Participant::take(const Suspend& suspend, Instant /*now*/) {
  if (suspend.attempt == attempt_ && has_workers()) {
    actions_.emplace_back(suspend.notice);
  }
}

void Participant::take(const StatusQuery& asked, Instant /*now*/) {
  actions_.emplace_back(asked);
}

void Participant::take(const StatusReport& report, Instant /*now*/) {
  actions_.emplace_back(report);
}

void Participant::take(const Announce& announce, Instant /*now*/) {
  actions_.emplace_back(LogLine{Level::Warning, announce.text});
  if (announce.begins_stall) {
    actions_.emplace_back(StallBegun{announce.ranks});
  }
}

void Participant::take(const Hung& hung, Instant /*now*/) {
  if (hung.attempt == attempt_ && state_ == State::Running) {
    actions_.emplace_back(hung);
  }
}

void Participant::take(const Finish& finish, Instant /*now*/) {
  known_end_ = finish.end;
  if (has_workers()) {  // the leader gave up on this node and does not wait for it
    stop_attempt(SIGTERM, unlogged_reason(finish.end, finish.end.reason));
    return;
  }
  leave(finish.end);
}

template <typename Other>
void Participant::take(const Other& unexpected, Instant now) {
  cut_off("sent the message '" + std::string(name_of(Message(unexpected))) + "', which no leader sends", now);
}

}  // namespace muster::gang
