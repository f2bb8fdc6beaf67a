// Passes an agent's events and messages to its parts, and decides what concerns more than one of them. The header has
// the state diagram.
#include "gang/protocol/participant.hpp"

#include "gang/protocol/message_encoding.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {

Participant::Participant(GangConfig config, Instant now)
    : membership_(std::move(config)),
      contributions_(membership_.config.keys),
      attempt_(membership_),
      link_(membership_, attempt_, now),
      waits_for_(membership_.config.waits_for),
      started_(now),
      last_turn_(now) {}

ParticipantActions Participant::start() {
  link_.dial();
  return std::exchange(membership_.actions, {});
}

ParticipantActions Participant::on(const ParticipantEvent& event, Instant now) {
  note_turn(now);
  if (state() != State::Left) {
    std::visit([&](const auto& happened) { pass(happened, now); }, event);
  }
  return std::exchange(membership_.actions, {});
}

/// Passes an event to the one part that it concerns, or handles it here.
void Participant::pass(const auto& event, Instant now) {
  if constexpr (requires { attempt_.on(event); }) {
    attempt_.on(event);
  } else if constexpr (requires { link_.on(event, now); }) {
    link_.on(event, now);
  } else {
    handle(event, now);
  }
}

/// The lease is renewed at each turn. It is due a little after the next heartbeat: one wake-up does for both.
std::optional<Instant> Participant::next_wake() const {
  const auto event = link_.next_wake();
  const auto limit = lease().limit;
  if (!limit) {
    return event;
  }
  const Instant renewal = last_turn_ + *limit * 11 / 32;
  return event ? std::min(*event, renewal) : renewal;
}

std::string Participant::awaited() const {
  return state() == State::Connecting ? "the leader at " + membership_.leader
         : state() == State::Joined   ? "the start of the job"
         : state() == State::Over     ? "what follows the attempt"
                                      : "";
}

// --- Events -------------------------------------------------------------------------------------

void Participant::handle(const LinkUp& up, Instant now) {
  link_.note_up(up, now);
  Join join;
  join.version = membership_.config.version;
  join.job = membership_.config.job;
  join.node = membership_.config.node;
  join.waits_for = waits_for_;
  join.contributes = contributions_.names();
  join.incarnation = link_.incarnation();
  join.waited_seconds = std::chrono::duration<double>(now - started_).count();
  membership_.send(std::move(join));
  if (const auto& end = membership_.known_end) {  // its inputs failed before it had a leader
    membership_.send(InputStatus{end->reason, end->exit_code});
  }
  for (Contribute& chunk : contributions_.introduce()) {
    membership_.send(std::move(chunk));
  }
}

void Participant::handle(const FromLeader& received, Instant now) {
  if (!membership_.is_linked) {
    return;
  }
  link_.note_message(now);
  std::visit([&](const auto& message) { pass_message(message, now); }, received.message);
}

void Participant::handle(const NodeEvent& event, Instant now) {
  std::visit([&](const auto& happened) { pass(happened, now); }, event);
}

void Participant::handle(const InputsChanged& inputs, Instant /*now*/) {
  if (waits_for_ != inputs.waits_for) {
    waits_for_ = inputs.waits_for;
    membership_.send(InputStatus{waits_for_});
  }
}

/// Reports that the inputs have failed: the leader tells all nodes. Without a leader, waits a moment for one, whose
/// join then reports it: the leader's node may have failed likewise and exit soon.
void Participant::handle(const InputsFailed& failed, Instant now) {
  std::optional<JobEnd>& end = membership_.known_end;
  if (end) {
    return;  // the job was lost before
  }
  link_.give_up_soon(now);
  end = membership_.in_this_attempt(make_end(failed.kind, failed.why));
  waits_for_ = failed.why;
  membership_.send(InputStatus{failed.why, end->exit_code});
}

/// Tells the leader. Without one, leaves at once: no process runs yet that could save anything.
void Participant::handle(const SuspendRequested& request, Instant /*now*/) {
  if (state() == State::Connecting && !request.is_withdrawn) {
    membership_.leave(membership_.in_this_attempt(
        make_end(EndKind::Suspended, "suspended (" + request.source + "): the nodes had not met")));
    return;
  }
  membership_.send(request);
}

/// Answers for this node only if there is no leader to ask the others.
void Participant::handle(const StatusQuery& wanted, Instant now) {
  membership_.is_linked ? membership_.send(wanted) : take(wanted, now);
}

void Participant::handle(const StatusReport& ready, Instant now) {
  membership_.is_linked ? membership_.send(ready) : take(ready, now);
}

void Participant::handle(const Announced& announced, Instant now) {
  const Announce line{announced.text, announced.stall.has_value(),
                      announced.stall ? announced.stall->ranks : std::vector<int>()};
  membership_.is_linked ? membership_.send(line) : take(line, now);
}

/// Values for the start are sent to each leader; values of an attempt only while it runs.
void Participant::handle(const Contributed& contributed, Instant /*now*/) {
  std::vector<Contribute> chunks;
  if (contributions_.is_before_start(contributed.key)) {
    chunks = contributions_.keep(contributed.key, contributed.bytes);
  } else if (state() == State::Running) {
    chunks = contributions_.contribute(contributed.key, contributed.bytes, contributed.nodes);
  }
  for (Contribute& chunk : chunks) {
    membership_.send(std::move(chunk));
  }
}

// --- Messages of the leader ---------------------------------------------------------------------

void Participant::pass_message(const auto& message, Instant now) {
  if constexpr (requires { attempt_.take(message); }) {
    attempt_.take(message);
  } else if constexpr (requires { link_.take(message, now); }) {
    link_.take(message, now);
  } else {
    take(message, now);
  }
}

void Participant::take(const Waiting& waiting, Instant /*now*/) {
  membership_.say(Level::Info, waiting.progress);
}

void Participant::take(const Merged& merged, Instant now) {
  auto value = contributions_.take(merged);
  if (!value) {
    link_.cut_off(value.error().message, now);
  } else if (*value && state() == State::Running) {
    membership_.actions.emplace_back(std::move(**value));
  }
}

void Participant::take(const Start& start, Instant now) {
  const bool is_old = membership_.has_run && start.placement.attempt <= membership_.attempt;
  if (membership_.has_workers() || is_old) {
    membership_.say(Level::Debug, "ignoring a start of attempt " + std::to_string(start.placement.attempt));
    return;
  }
  if (const int slots = membership_.config.node.slots; start.placement.slots_here > slots) {
    link_.cut_off("sent a start of " + std::to_string(start.placement.slots_here) +
                      " slots, but this node has offered " + std::to_string(slots),
                  now);
    return;
  }
  attempt_.begin(start.placement.attempt);
  Exchanged merged = contributions_.start(start.placement.attempt);
  link_.note_start(attempt_.is_asked_to_stop() ? 0 : start.orphan_limit_seconds);
  if (attempt_.is_asked_to_stop()) {  // the leader did not know yet that this agent got a signal
    attempt_.skip();
    return;
  }
  if (now >= link_.must_be_gone()) {  // this process was stopped for long, and the start was sent before
    link_.cut_off("sent a start that is too old", now);
    return;
  }
  attempt_.run(StartAttempt{start, std::move(merged)});
  link_.heartbeat_soon(now);
}

void Participant::take(const StatusQuery& asked, Instant /*now*/) {
  membership_.actions.emplace_back(asked);
}

void Participant::take(const StatusReport& report, Instant /*now*/) {
  membership_.actions.emplace_back(report);
}

void Participant::take(const Announce& announce, Instant /*now*/) {
  membership_.actions.emplace_back(LogLine{Level::Warning, announce.text});
  if (announce.begins_stall) {
    membership_.actions.emplace_back(StallBegun{announce.ranks});
  }
}

void Participant::take(const auto& unexpected, Instant now) {
  link_.cut_off("sent the message '" + std::string(name_of(Message(unexpected))) + "', which no leader sends", now);
}

}  // namespace muster::gang
