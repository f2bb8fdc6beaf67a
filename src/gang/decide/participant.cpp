// One agent's decisions. See the header for the picture.
#include "participant.hpp"

#include "durations.hpp"
#include "encoding.hpp"
#include "pauses.hpp"

#include <muster/base/endpoint.hpp>
#include <muster/base/text.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>

namespace muster::gang {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kProgressInterval{30};
constexpr seconds kPatienceToJoin{30};

/// A number that differs for each agent and each dial (the finaliser of splitmix64).
std::uint64_t mixed(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15U;
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31U);
}

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 17> text{};
  (void)std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

}  // namespace

Participant::Participant(Policy policy, Instant now)
    : policy_(std::move(policy)),
      leader_(join_endpoint(policy_.host, std::to_string(policy_.port))),
      waits_for_(policy_.waits_for),
      contributions_(policy_.keys),
      heartbeat_timeout_(policy_.options.heartbeat_timeout),
      started_(now),
      seeking_since_(now),
      deadline_(now + policy_.options.timeout),
      next_progress_(now + kProgressInterval),
      next_beat_(now),
      last_heard_(now) {
  policy_.job = as_sent(std::move(policy_.job));
}

ParticipantActions Participant::start() {
  dial();
  return std::exchange(actions_, {});
}

ParticipantActions Participant::on(const ParticipantEvent& event, Instant now) {
  if (state_ != State::Left) {
    std::visit([&](const auto& happened) { handle(happened, now); }, event);
  }
  return std::exchange(actions_, {});
}

std::optional<Instant> Participant::next_wake() const {
  if (is_leader_ || state_ == State::Left) {
    return std::nullopt;
  }
  if (is_linked_) {
    Instant wake = std::min(next_beat_, last_heard_ + silence_limit());
    if (!was_admitted_ && state_ == State::Joined) {
      wake = std::min(wake, deadline_);
    }
    return has_workers() ? std::min(wake, must_be_gone()) : wake;
  }
  if (state_ != State::Seeking) {
    return std::nullopt;  // the leader is lost, and only the end of the workers is waited for
  }
  const Instant wake = std::min(deadline_, next_progress_);
  return dial_at_ ? std::min(wake, *dial_at_) : wake;
}

std::string Participant::awaited() const {
  switch (state_) {
    case State::Seeking:
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

// --- The link -----------------------------------------------------------------------------------

void Participant::handle(const LinkUp& up, Instant now) {
  is_leader_ = up.is_own;
  is_linked_ = true;
  last_heard_ = now;
  confirmed_ = now;
  unanswered_.clear();
  next_beat_ = now + beat_interval();
  Join join;
  join.version = policy_.version;
  join.job = policy_.job;
  join.node = policy_.node;
  join.waits_for = waits_for_;
  join.contributes = contributions_.names();
  join.incarnation = hexadecimal(mixed(policy_.seed + static_cast<std::uint64_t>(dials_)));
  join.waited_seconds = std::chrono::duration<double>(now - started_).count();
  state_ = State::Joined;
  tell(std::move(join));
  for (Contribute& piece : contributions_.introduce()) {
    tell(std::move(piece));
  }
}

void Participant::handle(const DialFailed& failed, Instant now) {
  if (failed.is_final) {
    leave(in_this_attempt(make_end(EndKind::SystemRefused, failed.why)));
    return;
  }
  const bool is_new = failed.why != last_failure_;
  const bool is_the_first = last_failure_.empty();
  last_failure_ = failed.why;
  if (is_the_first) {
    mention(Level::Info,
            "cannot reach the leader yet: " + failed.why + "; trying again for up to " +
                whole_seconds(deadline_ - now));
  } else if (is_new) {
    mention(Level::Debug, "cannot reach the leader yet: " + failed.why);
  }
  // The pause grows, and is never the same for two agents.
  const milliseconds pause = dial_pause(dials_);
  const auto spread = static_cast<milliseconds::rep>(
      mixed(policy_.seed ^ static_cast<std::uint64_t>(dials_)) % 1'000U);
  dial_at_ = now + pause / 2 + pause * spread / 1'000;
}

void Participant::handle(const LinkDown& down, Instant now) {
  if (!is_linked_) {
    return;
  }
  is_linked_ = false;
  if (has_run_) {
    lose_leader(down.why, now);
  } else {
    seek(now);
    handle(DialFailed{"the leader at " + leader_ + " " + down.why}, now);
  }
}

/// Nothing has been started: the leader may come back, or another one in its place.
void Participant::seek(Instant now) {
  if (was_admitted_) {
    mention(Level::Warning, "lost the leader before the start: looking for it again");
    deadline_ = now + policy_.options.timeout;
    seeking_since_ = now;
    next_progress_ = now + kProgressInterval;
    was_admitted_ = false;
  }
  state_ = State::Seeking;
}

void Participant::dial() {
  ++dials_;
  dial_at_.reset();
  actions_.emplace_back(Dial{});
}

void Participant::lose_leader(const std::string& why, Instant now) {
  const std::string reason = "the leader at " + leader_ + " was lost: it " + why;
  const auto most_grace = time_without_leader(now);
  if (!known_end_) {
    known_end_ = in_this_attempt(own_signal_ ? end_by_signal(*own_signal_)
                                             : make_end(EndKind::Lost, reason));
    known_end_->first_failure = own_signal_ ? std::nullopt : own_failure_;
    mention(Level::Error, reason);
  }
  if (has_workers()) {
    stop_attempt(SIGTERM, reason, most_grace);
  } else {
    leave(*known_end_);
  }
}

/// From then on the leader may start the next attempt without this node. It counts from when it heard
/// us the last time, which is not before we sent the last beat that it answered.
Instant Participant::must_be_gone() const {
  const bool may_go_on = orphan_limit_ && !known_end_ && !is_leader_;
  return may_go_on ? confirmed_ + heartbeat_timeout_ + *orphan_limit_ : Instant::max();
}

/// The most grace for workers of a lost leader, however late we noticed; empty: the whole grace.
std::optional<milliseconds> Participant::time_without_leader(Instant now) const {
  if (must_be_gone() == Instant::max()) {
    return std::nullopt;
  }
  const auto left = std::chrono::duration_cast<milliseconds>(must_be_gone() - now);
  return std::clamp(left, milliseconds(0), *orphan_limit_);
}

void Participant::handle(const FromLeader& received, Instant now) {
  if (!is_linked_) {
    return;
  }
  last_heard_ = now;
  std::visit([&](const auto& message) { take(message, now); }, received.message);
}

// --- What the leader says -----------------------------------------------------------------------

void Participant::take(const Beat& /*beat*/, Instant /*now*/) {
  if (!unanswered_.empty()) {
    confirmed_ = unanswered_.front();
    unanswered_.pop_front();
  }
}

void Participant::take(const Admitted& admitted, Instant now) {
  was_admitted_ = true;
  heartbeat_timeout_ =
      milliseconds(static_cast<milliseconds::rep>(admitted.heartbeat_timeout_seconds * 1'000));
  next_beat_ = now + beat_interval();
  if (is_leader_) {
    return;
  }
  mention(admitted.seat ? Level::Debug : Level::Info,
          admitted.seat
              ? "the leader at " + leader_ + " knows this node as node " + to_string(*admitted.seat)
              : "this node is a spare: it waits until the job needs it");
}

void Participant::take(const Refused& refused, Instant now) {
  actions_.emplace_back(HangUp{});
  is_linked_ = false;
  const std::string why = "the leader at " + leader_ + " refused this node: " + refused.reason;
  if (has_run_) {
    lose_leader("refused this node: " + refused.reason, now);
  } else if (refused.may_retry) {
    seek(now);
    handle(DialFailed{why}, now);
  } else {
    leave(in_this_attempt(make_end(EndKind::NodeRefused, why)));
  }
}

void Participant::take(const Waiting& waiting, Instant /*now*/) {
  mention(Level::Info, waiting.progress);
}

void Participant::take(const Start& start, Instant now) {
  const bool is_old = has_run_ && start.placement.attempt <= attempt_;
  if (has_workers() || is_old) {
    mention(Level::Debug, "ignoring a start of attempt " + std::to_string(start.placement.attempt));
    return;
  }
  attempt_ = start.placement.attempt;
  Exchanged merged = contributions_.start(attempt_);
  has_run_ = true;
  own_failure_.reset();
  orphan_limit_.reset();
  if (own_signal_) {  // the leader did not know yet that this agent was asked to end
    state_ = State::Over;
    tell(Ended{attempt_, std::nullopt, std::nullopt});
    return;
  }
  if (start.orphan_limit_seconds > 0) {
    orphan_limit_ =
        milliseconds(static_cast<milliseconds::rep>(start.orphan_limit_seconds * 1'000));
  }
  if (now >= must_be_gone()) {  // we were stopped for long, and this was sent before
    cut_off("sent a start that is too old", now);
    return;
  }
  state_ = State::Running;
  next_beat_ = std::min(next_beat_, now + beat_interval());
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
    stop_attempt(stop.signal, stop.reason);
  }
}

void Participant::take(const Finish& finish, Instant /*now*/) {
  known_end_ = finish.end;
  if (has_workers()) {  // the leader gave up on us; it will not be waited for
    stop_attempt(SIGTERM, finish.end.reason);
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

void Participant::cut_off(std::string why, Instant now) {
  actions_.emplace_back(HangUp{});
  handle(LinkDown{std::move(why)}, now);
}

// --- What happens here --------------------------------------------------------------------------

void Participant::handle(const WorkerFailed& failed, Instant /*now*/) {
  if (state_ == State::Running) {
    state_ = State::Stopping;
    own_failure_ = failed.failure;
    tell(Failed{attempt_, failed.failure});
  }
}

void Participant::handle(const WorkerSucceeded& succeeded, Instant /*now*/) {
  if (state_ == State::Running) {
    Succeeded message = succeeded.worker;
    message.attempt = attempt_;
    tell(std::move(message));
  }
}

void Participant::handle(const AttemptOver& over, Instant /*now*/) {
  state_ = State::Over;
  if (over.failure) {
    own_failure_ = over.failure;
  }
  if (!is_linked_) {
    leave(*known_end_);
    return;
  }
  tell(Ended{attempt_, over.failure, over.made_progress, over.gave_up});
}

void Participant::handle(const InputsAre& inputs, Instant /*now*/) {
  if (waits_for_ != inputs.waits_for) {
    waits_for_ = inputs.waits_for;
    tell(Preparing{waits_for_});
  }
}

void Participant::handle(const StopSignal& stop, Instant /*now*/) {
  const bool is_the_first = !own_signal_;
  const bool is_the_second = ++stop_signals_ == 2;
  own_signal_ = own_signal_.value_or(stop.signal);
  if (has_workers()) {
    if (!stop.workers_know) {
      actions_.emplace_back(PassSignal{stop.signal});
    }
    tell(StopAsked{stop.signal, /*is_urgent=*/!is_the_first});
    return;
  }
  tell(StopAsked{stop.signal, /*is_urgent=*/!is_the_first});
  // The leader tells the others before it goes; an agent that runs nothing is not waited for by
  // anybody, unless it does not know yet how the job ended.
  const bool awaits_the_end = (is_leader_ && (is_the_first || is_the_second)) ||
                              (state_ == State::Over && !known_end_ && is_the_first);
  if (!awaits_the_end) {
    leave(known_end_ ? *known_end_ : in_this_attempt(end_by_signal(*own_signal_)));
  }
}

void Participant::handle(const GuardGone& /*gone*/, Instant /*now*/) {
  known_end_ = in_this_attempt(end_by_signal(SIGKILL));
  is_linked_ = false;
  actions_.emplace_back(HangUp{});
  if (has_workers()) {
    state_ = State::Stopping;
    actions_.emplace_back(KillAttempt{});
  } else {
    leave(*known_end_);
  }
}

void Participant::stop_attempt(int signal,
                               std::string reason,
                               std::optional<milliseconds> most_grace) {
  state_ = State::Stopping;
  actions_.emplace_back(StopAttempt{signal, std::move(reason), most_grace});
}

// --- Time ---------------------------------------------------------------------------------------

void Participant::handle(const Wake& /*wake*/, Instant now) {
  if (is_linked_) {
    keep_in_touch(now);
    if (!was_admitted_ && state_ == State::Joined && now >= deadline_) {
      last_failure_ = "somebody took the connection and does not answer";
      give_up(now);
    }
    return;
  }
  if (state_ != State::Seeking) {
    return;
  }
  if (now >= deadline_) {
    give_up(now);
    return;
  }
  if (now >= next_progress_) {
    report_seeking(now);
  }
  if (dial_at_ && now >= *dial_at_) {
    dial();
  }
}

void Participant::keep_in_touch(Instant now) {
  if (now - next_beat_ > beat_interval()) {  // we were stopped: what the leader said is unread
    last_heard_ = std::min(last_heard_ + (now - next_beat_), now);
  }
  if (now >= next_beat_) {
    next_beat_ = now + beat_interval();
    unanswered_.push_back(now);
    tell(Beat{});
  }
  if (now - last_heard_ >= silence_limit()) {
    cut_off("was silent for " + whole_seconds(silence_limit()), now);
  } else if (has_workers() && now >= must_be_gone()) {
    cut_off("did not answer for " + whole_seconds(now - confirmed_), now);
  }
}

void Participant::report_seeking(Instant now) {
  next_progress_ = now + kProgressInterval;
  mention(Level::Info,
          "waiting for the leader at " + leader_ + " for " + whole_seconds(now - seeking_since_) +
              ": " + (last_failure_.empty() ? "no answer yet" : last_failure_) + "; giving up in " +
              whole_seconds(deadline_ - now));
}

void Participant::give_up(Instant now) {
  leave(in_this_attempt(make_end(
      EndKind::Incomplete,
      "did not reach the leader at " + leader_ + " within " + whole_seconds(now - seeking_since_) +
          " (" + count_of(static_cast<std::size_t>(dials_), "attempt") +
          "): " + (last_failure_.empty() ? "it has not answered" : last_failure_))));
}

/// Before it knows us the leader may be busy with thousands of others, and nothing is at stake.
milliseconds Participant::silence_limit() const {
  return was_admitted_ ? heartbeat_timeout_
                       : std::max<milliseconds>(heartbeat_timeout_, kPatienceToJoin);
}

milliseconds Participant::beat_interval() const {
  return heartbeat_timeout_ / 4;
}

// --- The end ------------------------------------------------------------------------------------

void Participant::leave(JobEnd end) {
  if (std::exchange(is_linked_, false)) {
    actions_.emplace_back(HangUp{});
  }
  state_ = State::Left;
  actions_.emplace_back(Leave{std::move(end)});
}

JobEnd Participant::in_this_attempt(JobEnd end) const {
  end.attempt = attempt_;
  return end;
}

void Participant::tell(Message message) {
  if (is_linked_) {
    actions_.emplace_back(Tell{std::move(message)});
  }
}

void Participant::mention(Level level, std::string text) {
  actions_.emplace_back(Mention{level, std::move(text)});
}

}  // namespace muster::gang
