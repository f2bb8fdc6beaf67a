// Implements the leader's event handling, timers, exchange and status queries. leader_join.cpp admits agents and
// waits for nodes, leader_start.cpp starts attempts and suspends them, leader_end.cpp ends them, leader_claims.cpp
// checks what a node may speak of.
#include "gang/protocol/leader.hpp"

#include "base/text.hpp"
#include "gang/protocol/message_encoding.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace muster::gang {

using std::chrono::milliseconds;
using std::chrono::seconds;

Leader::Leader(GangConfig config, Instant now)
    : config_(std::move(config)),
      roster_(config_.job.most_nodes),
      exchange_(config_.keys),
      rendezvous_timer_(config_.options, now),
      early_exit_(config_.options),
      newcomers_call_(config_.options.last_call),
      restart_decider_(config_.options.restarts),
      fence_(config_.options.heartbeat_timeout, now),
      next_silence_check_(now + silence_check_interval()),
      rest_until_(now) {
  config_.job = normalized(std::move(config_.job));
}

LeaderActions Leader::on(const LeaderEvent& event, Instant now) {
  if (state_ != State::Finished) {
    std::visit([&](const auto& happened) { handle(happened, now); }, event);
  }
  if (newcomers_call_.is_over(now)) {
    scale_up(now);
  }
  return std::exchange(actions_, {});
}

std::optional<Instant> Leader::next_wake() const {
  std::optional<Instant> wake;
  const auto at = [&](std::optional<Instant> moment) {
    if (moment) {
      wake = wake ? std::min(*wake, *moment) : *moment;
    }
  };
  if (roster_.has_others() && state_ != State::Finished) {
    at(next_silence_check_);
  }
  switch (state_) {
    case State::Rendezvous:
      if (!waits_for_port_ && !start_due_) {
        at(rendezvous_timer_.next_wake());
      }
      break;
    case State::Running:
      at(early_exit_.deadline());
      at(newcomers_call_.end());
      at(notice_ ? std::optional(notice_->deadline) : std::nullopt);
      break;
    case State::Resting:
      at(rest_until_);
      break;
    case State::Finishing:
      at(goodbye_deadline_);
      break;
    case State::Stopping:
      if (roster_.has_others()) {
        at(stop_deadline_);
      }
      break;
    case State::Finished:
      break;
  }
  return wake;
}

// --- Events -------------------------------------------------------------------------------------

void Leader::handle(const Received& received, Instant now) {
  Member* const member = roster_.find(received.link);
  if (member == nullptr) {
    return;  // the link was dropped while this message was on its way
  }
  member->last_heard = now;
  if (member->seat) {
    settle_claims(*member->seat);
  }
  std::visit([&](const auto& message) { take(received.link, message, now); }, received.message);
  if (start_due_) {
    try_start(now);
  }
}

void Leader::handle(const PortReserved& reserved, Instant now) {
  waits_for_port_ = false;
  if (state_ != State::Rendezvous) {
    return;  // the job was stopped meanwhile
  }
  if (!reserved.error.empty()) {
    conclude(make_end(EndKind::SystemRefused, reserved.error), now);
  } else if (is_enough_ready()) {
    start_with_ready(reserved.offer, now);
  } else {  // a node left meanwhile
    seat_spares();
    try_start(now);
  }
}

void Leader::handle(const HostsLookedUp& found, Instant /*now*/) {
  rendezvous_timer_.note_unresolved(found.unresolved);
}

void Leader::handle(const Tick& /*tick*/, Instant now) {
  if (roster_.has_others() && now >= next_silence_check_) {
    check_silence(now);
  }
  if (state_ == State::Rendezvous) {
    report_progress(now);
    try_start(now);
  }
  if (state_ == State::Rendezvous && !waits_for_port_ && !start_due_) {
    check_deadlines(now);
  }
  if (state_ == State::Running && now >= early_exit_.deadline().value_or(Instant::max())) {
    end_by_early_exit(now);
  }
  if (state_ == State::Running && notice_ && now >= notice_->deadline) {
    end_at_deadline(now);
  }
  if (state_ == State::Stopping && now >= stop_deadline_) {
    give_up_stopping(now);
  }
  if (state_ == State::Resting && now >= rest_until_) {
    gather(now);
  }
  if (state_ == State::Finishing && now >= goodbye_deadline_) {
    drop_all_links();
  }
}

void Leader::take(LinkId link, const Heartbeat& /*beat*/, Instant /*now*/) {
  send(link, Heartbeat{});
}

/// The node's inputs have arrived, or it waits for them again before the next attempt.
void Leader::take(LinkId link, const InputStatus& preparing, Instant now) {
  if (preparing.exit_code != 0) {
    end_unprepared(link, preparing, now);
    return;
  }
  roster_.find(link)->join.waits_for = preparing.waits_for;
  follow_readiness(link, now);
}

/// Handles a node that waited for its inputs in vain. A replacement would wait for the same file, so the job ends,
/// unless it can do without the node: a spare, or a node above the minimum.
void Leader::end_unprepared(LinkId link, const InputStatus& preparing, Instant now) {
  Member& member = *roster_.find(link);
  const bool is_in_vain = preparing.exit_code == exit_code_of(EndKind::Incomplete);
  const std::string seat = member.seat ? "node " + std::to_string(*member.seat) + ", " : "";
  JobEnd end = make_end(is_in_vain ? EndKind::Incomplete : EndKind::BadInput,
                        seat + describe(member) + ": " + preparing.waits_for);
  const bool may_go =
      link != kOwnLink && is_in_vain && !config_.job.total_slots && roster_.seated() > config_.job.least_nodes;
  if (!member.seat || may_go) {
    send(link, Finish{recorded(std::move(end))});
    actions_.emplace_back(Drop{link});
    release(link, "has not got what it needs: " + preparing.waits_for, now);
  } else {
    member.cannot_go_on = std::move(end);
    member.join.waits_for = preparing.waits_for;
    follow_readiness(link, now);
  }
}

void Leader::take(LinkId link, const Failed& failed, Instant now) {
  const bool is_of_this = failed.attempt == attempt_.number() && roster_.find(link)->node_rank;
  if (!is_of_this || (state_ != State::Running && state_ != State::Stopping)) {
    return;
  }
  const auto failure = own_failure(link, failed.failure);
  if (!failure) {
    return;
  }
  attempt_.note_failure(*failure);
  if (state_ == State::Running && !notice_) {
    attempt_.note_first_failure(*failure);
    end_attempt(end_of(*failure), SIGTERM, now, describe_failure(*failure));
  }
}

void Leader::take(LinkId link, const Succeeded& succeeded, Instant now) {
  const Member& member = *roster_.find(link);
  if (succeeded.attempt != attempt_.number() || !member.node_rank ||
      (succeeded.pid > 0 && !is_of(link, succeeded.global_rank))) {
    return;
  }
  if (state_ == State::Running || state_ == State::Stopping) {
    attempt_.note_success(*member.node_rank, member.join.node.host, succeeded);
  }
  if (state_ == State::Running) {
    note_success(link, succeeded, now);
  }
}

void Leader::take(LinkId link, const AttemptOver& ended, Instant now) {
  Member& member = *roster_.find(link);
  if (ended.attempt != attempt_.number() || member.has_ended) {
    return;
  }
  member.has_ended = true;
  attempt_.note_node_ended();
  if (auto failure = ended.failure ? own_failure(link, *ended.failure) : std::nullopt) {
    attempt_.note_failure(std::move(*failure));
  }
  attempt_.note_other_failures(own_failures(link, ended.also_failed));
  attempt_.note_progress(ended.made_progress);
  if (ended.gave_up && !restart_decider_.is_forbidden()) {
    restart_decider_.forbid_restarts();
    say(Level::Error, "node " + to_string(*member.node_rank) + ", " + describe(member) +
                          ", could not kill a process of attempt " + std::to_string(attempt_.number()) +
                          ": there is no other attempt beside it");
  }
  if (restart_decider_.is_forbidden() && state_ == State::Stopping && !end_) {
    end_ = attempt_.end_without_restart();
  }
  if (member.leaving_after) {
    release(link, "was stopped by " + signal_name(*member.leaving_after), now);
  }
  if (state_ == State::Running && notice_ && attempt_.is_over()) {
    end_after_all_have_ended(now);
    return;
  }
  after_an_end(now);
}

void Leader::take(LinkId link, const StopFromAgent& asked, Instant now) {
  Member& member = *roster_.find(link);
  if (member.leaving_after) {
    return;  // a repeated signal
  }
  if (link != kOwnLink && !member.seat) {  // a spare: the job does not need it
    member.leaving_after = asked.signal;
    release(link, "was stopped by " + signal_name(asked.signal), now);
    return;
  }
  if (asked.is_urgent) {
    hurry(member, asked.signal, now);
    return;
  }
  if (asked.most_grace && state_ == State::Stopping) {
    send(nodes_that_have_not_ended(), Stop{attempt_.number(), asked.signal, attempt_.reason(), end_,
                                           /*is_urgent=*/false, asked.most_grace});
  }
  if (end_ || state_ == State::Finishing) {
    return;
  }
  if (link != kOwnLink && state_ == State::Rendezvous && attempt_.number() == 0) {
    roster_.leave_seat(link, "left: was stopped by " + signal_name(asked.signal));
    member.leaving_after = asked.signal;
    return;  // nothing has started: another node may take its place
  }
  if (link != kOwnLink && can_continue_without(link, now)) {
    continue_without(link, asked.signal, now);
    return;
  }
  asked_grace_ = asked.most_grace;
  const std::string request = describe_request(member, asked.signal);
  JobEnd end = end_by_request(request, asked.signal);
  if (state_ == State::Running) {
    end_attempt(std::move(end), asked.signal, now, request);
  } else if (state_ == State::Stopping) {
    end_ = recorded(std::move(end));  // no other attempt; the workers are ending already
    after_an_end(now);
  } else {
    conclude(std::move(end), now);
  }
}

/// "node 1 was asked to stop (SIGTERM)"; empty in a job of one node, which needs no name.
std::string Leader::describe_request(const Member& member, int signal) const {
  const auto seat = member.seat ? std::to_string(*member.seat) : "";
  const std::string node = member.node_rank ? to_string(*member.node_rank) : seat;
  return config_.job.most_nodes == 1 ? "" : "node " + node + " was asked to stop (" + signal_name(signal) + ")";
}

JobEnd Leader::end_by_request(const std::string& request, int signal) {
  JobEnd end = end_by_signal(signal);
  end.reason += request.empty() ? "" : ": " + request;
  return end;
}

/// A person who asks again ends the grace of all nodes.
void Leader::hurry(const Member& asked, int signal, Instant now) {
  const std::string request = describe_request(asked, signal);
  if (state_ == State::Running) {
    end_attempt(end_by_request(request, signal), signal, now, request);
  }
  if (state_ != State::Stopping) {
    return;
  }
  if (!end_) {
    end_ = recorded(end_by_request(request, signal));
  }
  send(nodes_that_have_not_ended(), Stop{attempt_.number(), signal, attempt_.reason(), end_, /*is_urgent=*/true, {}});
}

std::vector<LinkId> Leader::nodes_that_have_not_ended() const {
  std::vector<LinkId> alive;
  for (const LinkId link : attempt_.nodes()) {
    const Member* const member = roster_.find(link);
    if (member != nullptr && !member->has_ended) {
      alive.push_back(link);
    }
  }
  return alive;
}

/// Ends the attempt because one node leaves, such as by a drain, if the job has another node or may be smaller.
void Leader::continue_without(LinkId link, int signal, Instant now) {
  Member& member = *roster_.find(link);
  const std::string reason =
      "node " + std::to_string(*member.seat) + ", " + describe(member) + ", leaves after " + signal_name(signal);
  say(Level::Warning, reason + ": going on without it");
  member.leaving_after = signal;
  const bool is_missed = state_ == State::Running && member.is_missed_if_lost();
  if (member.has_ended) {
    release(link, "was stopped by " + signal_name(signal), now);
  }
  if (is_missed) {
    end_attempt(make_end(EndKind::Lost, reason), SIGTERM, now);
  }
}

template <typename Other>
void Leader::take(LinkId link, const Other& unexpected, Instant now) {
  const std::string name = name_of(Message(unexpected));
  handle(LinkLost{link, "sent the message '" + name + "', which no agent sends here"}, now);
  actions_.emplace_back(Drop{link});
}

// --- Time ---------------------------------------------------------------------------------------

milliseconds Leader::silence_check_interval() const {
  return std::min<milliseconds>(config_.options.heartbeat_timeout / 8, seconds(1));
}

void Leader::check_silence(Instant now) {
  // This process may have been stopped itself: then the other nodes' messages are still unread.
  const Instant::duration asleep = now - next_silence_check_;
  const bool was_asleep = asleep > silence_check_interval();
  next_silence_check_ = now + silence_check_interval();
  std::vector<LinkId> silent;
  for (auto& [link, member] : roster_.members()) {
    if (was_asleep) {
      member.last_heard = std::min(member.last_heard + asleep, now);
    }
    if (link != kOwnLink && now - member.last_heard > config_.options.heartbeat_timeout) {
      silent.push_back(link);
    }
  }
  for (const LinkId link : silent) {
    if (roster_.find(link) != nullptr) {
      const std::string why = "was silent for " + whole_seconds(config_.options.heartbeat_timeout);
      handle(LinkLost{link, why}, now);
      actions_.emplace_back(Drop{link});
    }
  }
}

void Leader::send(LinkId link, Message message) {
  actions_.emplace_back(SendTo{{link}, std::move(message)});
}

void Leader::send(std::vector<LinkId> links, Message message) {
  if (!links.empty()) {
    actions_.emplace_back(SendTo{std::move(links), std::move(message)});
  }
}

void Leader::say(Level level, std::string text) {
  actions_.emplace_back(LogLine{level, std::move(text)});
}

// The leader's use of the exchange: it tracks missing contributions, distributes results, and drops nodes that break
// the protocol.

namespace {

JobEnd end_of_exchange(const Error& why) {
  switch (why.kind) {
    case ErrorKind::BadData:
      return make_end(EndKind::BadInput, why.message);
    case ErrorKind::Incomplete:
      return make_end(EndKind::Incomplete, why.message);
    default:
      return make_end(EndKind::SystemRefused, "the nodes cannot exchange values: " + why.message);
  }
}

}  // namespace

/// A node is ready when its inputs have arrived and its contributions have reached the leader.
void Leader::note_readiness(LinkId link) {
  const std::string missing = exchange_.missing(link);
  const std::string& inputs = roster_.find(link)->join.waits_for;
  roster_.note_inputs(link, inputs.empty() && !missing.empty() ? "its " + missing + " to reach the leader" : inputs);
}

/// Updates a node's readiness. A spare that became ready may be needed.
void Leader::follow_readiness(LinkId link, Instant now) {
  note_readiness(link);
  if (!roster_.find(link)->seat) {
    if (state_ == State::Rendezvous) {
      seat_spares();
    }
    note_newcomers(now);
  }
  try_start(now);
}

void Leader::take(LinkId link, const Contribute& contribute, Instant now) {
  carry_out(exchange_.take(link, contribute), now);
  pending_for_.clear();
  if (roster_.find(link) != nullptr) {
    follow_readiness(link, now);
  }
}

/// True while the values of the seated nodes do not fit together. Checked again when one of them contributes again,
/// or when other nodes are to start.
bool Leader::holds_back(Instant now) {
  const std::vector<LinkId> nodes = roster_.in_order();
  const bool is_first = pending_.empty();  // later changes are part of the progress messages
  pending_ = exchange_.pending(exchange_nodes(nodes));
  pending_for_ = nodes;
  rendezvous_timer_.note_pending(!pending_.empty(), now);
  if (!pending_.empty() && is_first) {
    say(Level::Info, pending_);
    std::vector<LinkId> others = nodes;
    std::erase(others, kOwnLink);
    send(std::move(others), Waiting{pending_});
  }
  return !pending_.empty();
}

void Leader::carry_out(const ExchangeOutcomes& outcomes, Instant now) {
  for (const ExchangeOutcome& outcome : outcomes) {
    std::visit([&](const auto& one) { carry_out(one, now); }, outcome);
  }
}

void Leader::carry_out(const Delivery& delivery, Instant /*now*/) {
  for (const Merged& chunk : delivery.chunks) {
    send(delivery.links, chunk);
  }
}

void Leader::carry_out(const Violation& violation, Instant now) {
  if (violation.link == kOwnLink) {
    carry_out(Error{ErrorKind::System, violation.why}, now);
    return;
  }
  handle(LinkLost{violation.link, violation.why}, now);
  actions_.emplace_back(Drop{violation.link});
}

/// Ends the job, because another attempt would contribute the same.
void Leader::carry_out(const Error& why, Instant now) {
  JobEnd end = end_of_exchange(why);
  if (state_ == State::Running) {
    end_ = recorded(end);
    end_attempt(std::move(end), SIGTERM, now);
  } else if (state_ == State::Rendezvous) {
    conclude(std::move(end), now);
  }
}

// Sends status queries to all nodes and the reports back to the asking agent. The leader stores no report. See
// docs/control.md.

namespace {

/// Limit of pending queries. The oldest is dropped; its agent times out.
constexpr std::size_t kMostQuestions = 16;
/// Limit of the reports for one agent. It receives those of thousands of nodes one by one, and its send queue must
/// not overflow and end its link.
constexpr std::size_t kMostAnswerBytes = std::size_t{2} << 20U;

}  // namespace

void Leader::take(LinkId link, const StatusQuery& asked, Instant /*now*/) {
  if (state_ == State::Finishing) {
    return;
  }
  const std::vector<LinkId> links = roster_.links();
  if (questions_.size() >= kMostQuestions) {
    questions_.erase(questions_.begin());
  }
  Question& question = questions_[++last_question_];
  question.asker = link;
  question.number = asked.number;
  question.awaited = std::set<LinkId>(links.begin(), links.end());
  send(links, StatusQuery{last_question_, asked.what});
}

/// Each line of a node costs one on every console, so a node has a number of them for each minute.
void Leader::take(LinkId link, const Announce& announce, Instant now) {
  constexpr int kMostAnnounced = 100;
  constexpr seconds kPeriod{60};
  if (announce.begins_stall && !is_watcher(link)) {
    return;
  }
  Member& member = *roster_.find(link);
  if (now - member.announced_since >= kPeriod) {
    member.announced = 0;
    member.announced_since = now;
  }
  if (++member.announced <= kMostAnnounced) {
    send(roster_.links(), announce);
  } else if (member.announced == kMostAnnounced + 1) {
    say(Level::Warning, describe(member) + " has sent " + std::to_string(kMostAnnounced) +
                            " lines for all nodes within a minute; leaving out more");
  }
}

/// Not after a notice: ranks that are saving may wait for each other.
void Leader::take(LinkId link, const Hung& hung, Instant now) {
  if (hung.attempt != attempt_.number() || state_ != State::Running || notice_ || !is_watcher(link)) {
    return;
  }
  if (hung.ranks.empty()) {
    end_attempt(make_end(EndKind::Hung, hung.why), SIGABRT, now);
  } else {
    send(roster_.links(), hung);
  }
}

namespace {

/// See `StatusReport`.
std::string own_ranks(const Member& member) {
  const bool is_unknown = member.node_rank && !member.ranks;
  const std::string ranks = member.node_rank && member.ranks ? describe_ranges(*member.ranks) : "";
  return is_unknown ? "" : ranks.empty() ? "none" : ranks;
}

}  // namespace

void Leader::take(LinkId link, const StatusReport& report, Instant /*now*/) {
  const auto found = questions_.find(report.number);
  if (found == questions_.end() || found->second.awaited.erase(link) == 0) {
    return;
  }
  Question& question = found->second;
  question.bytes += report.text.size();
  const bool is_too_much = question.asker != kOwnLink && question.bytes > kMostAnswerBytes;
  const bool is_here = roster_.find(question.asker) != nullptr;
  if (is_here) {
    send(question.asker, StatusReport{question.number, is_too_much ? std::string() : report.text,
                                      static_cast<int>(question.awaited.size()), own_ranks(*roster_.find(link))});
  }
  if (question.awaited.empty() || !is_here) {
    questions_.erase(found);
  }
}

}  // namespace muster::gang
