// Passes events and messages to the parts of the leader.
#include "gang/protocol/leader.hpp"

#include "base/signals.hpp"
#include "base/text.hpp"
#include "gang/protocol/message_encoding.hpp"

#include <algorithm>
#include <csignal>
#include <utility>
#include <variant>

namespace muster::gang {

Leader::Leader(GangConfig config, Instant now)
    : gang_(std::move(config), now),
      own_ranks_(gang_),
      questions_(gang_),
      preflight_(gang_),
      admission_(gang_),
      goodbye_(gang_),
      rendezvous_(gang_, admission_, goodbye_, preflight_, now),
      attempt_start_(gang_, admission_, rendezvous_, goodbye_),
      suspension_(gang_, admission_),
      attempt_end_(gang_, admission_, rendezvous_, suspension_, goodbye_),
      departures_(gang_, {admission_, preflight_, rendezvous_, suspension_, attempt_end_, goodbye_}, now) {}

LeaderActions Leader::on(const LeaderEvent& event, Instant now) {
  if (gang_.state != State::Finished) {
    std::visit([&](const auto& happened) { handle(happened, now); }, event);
  }
  if (admission_.is_newcomers_call_over(now)) {
    attempt_end_.scale_up(now);
  }
  preflight_.follow(now);
  while (leave_out_unfit(now)) {
  }
  return std::exchange(gang_.actions, {});
}

std::optional<Instant> Leader::next_wake() const {
  std::optional<Instant> wake;
  const auto at = [&](std::optional<Instant> moment) {
    if (moment) {
      wake = wake ? std::min(*wake, *moment) : *moment;
    }
  };
  if (gang_.roster.has_others() && gang_.state != State::Finished) {
    at(departures_.next_silence_check());
  }
  at(attempt_end_.next_wake());
  at(preflight_.next_wake());
  if (gang_.state == State::Rendezvous) {
    at(rendezvous_.next_wake());
  } else if (gang_.state == State::Running) {
    at(gang_.early_exit.deadline());
    at(admission_.newcomers_call_end());
    at(suspension_.deadline());
  } else if (gang_.state == State::Finishing) {
    at(goodbye_.deadline());
  }
  return wake;
}

std::vector<std::string> Leader::awaited() const {
  std::vector<std::string> names;
  for (const auto& [link, member] : gang_.roster.members()) {
    const std::string name = member.seat ? "node " + std::to_string(*member.seat) : "the spare " + describe(member);
    if (link != kOwnLink && gang_.state == State::Finishing) {
      names.push_back("goodbye of " + name);
    } else if (link != kOwnLink && gang_.state == State::Stopping && !member.has_ended) {
      names.push_back("end of the workers of " + name);
    }
  }
  return names;
}

// --- Events -------------------------------------------------------------------------------------

void Leader::handle(const Joined& arrived, Instant now) {
  if (admission_.admit(arrived, now)) {
    rendezvous_.place(arrived.link, now);
  }
  if (gang_.roster.find(arrived.link) != nullptr) {
    preflight_.note_joined(arrived.link, now);
  }
}

void Leader::handle(const Received& received, Instant now) {
  Member* const member = gang_.roster.find(received.link);
  if (member == nullptr) {
    return;  // the link was dropped while this message was on its way
  }
  member->last_heard = now;
  if (member->seat) {
    admission_.refuse_claimants(*member->seat);
  }
  std::visit([&](const auto& message) { take(received.link, message, now); }, received.message);
  rendezvous_.try_delayed_start(now);
}

void Leader::handle(const LinkLost& lost, Instant now) {
  departures_.note_lost_link(lost.link, lost.why, now);
}

void Leader::handle(const AuthFailed& stranger, Instant /*now*/) {
  gang_.roster.note_stranger(stranger.peer, stranger.why);
}

void Leader::handle(const PortReserved& reserved, Instant now) {
  if (rendezvous_.take_port(reserved, now)) {
    attempt_start_.start_with_ready(reserved.offer, now);
  }
}

void Leader::handle(const HostsLookedUp& found, Instant /*now*/) {
  rendezvous_.note_unresolved(found.unresolved);
}

void Leader::handle(const StoodStill& still, Instant now) {
  departures_.note_standstill(still, now);
}

void Leader::handle(const Tick& /*tick*/, Instant now) {
  departures_.drop_silent_nodes(now);
  if (gang_.state == State::Rendezvous) {
    rendezvous_.on_tick(now);
  }
  attempt_end_.on_tick(now);
  preflight_.on_tick(now);
  if (attempt_end_.is_stop_overdue(now)) {
    departures_.give_up_late_nodes(now);
  }
  if (gang_.state == State::Finishing && now >= goodbye_.deadline()) {
    goodbye_.drop_all_links();
  }
}

// --- Messages -----------------------------------------------------------------------------------

void Leader::take(LinkId link, const Heartbeat& beat, Instant now) {
  gang_.roster.find(link)->memory.note(beat.memory, now);
  gang_.send(link, Heartbeat{gang_.config.memory_use()});
}

/// The node's inputs have arrived, or it waits for them again before the next attempt.
void Leader::take(LinkId link, const InputStatus& preparing, Instant now) {
  if (preparing.exit_code != 0) {
    end_unprepared(link, preparing, now);
    return;
  }
  gang_.roster.find(link)->join.waits_for = preparing.waits_for;
  rendezvous_.follow_readiness(link, now);
}

/// Ends the job because a node's inputs have failed: a replacement would wait for the same file. Only sends the node
/// away if the job can do without it: a spare, or a node above the minimum.
void Leader::end_unprepared(LinkId link, const InputStatus& preparing, Instant now) {
  Member& member = *gang_.roster.find(link);
  const bool is_in_vain = preparing.exit_code == exit_code_of(EndKind::Incomplete);
  const std::string seat = member.seat ? "node " + std::to_string(*member.seat) + ", " : "";
  JobEnd end = make_end(is_in_vain ? EndKind::Incomplete : EndKind::BadInput,
                        seat + describe(member) + ": " + preparing.waits_for);
  const bool may_go = link != kOwnLink && is_in_vain && !gang_.config.job.total_slots &&
                      gang_.roster.seated() > gang_.config.job.least_nodes;
  if (!member.seat || may_go) {
    departures_.send_away(link, std::move(end), "has not got what it needs: " + preparing.waits_for, now);
  } else {
    member.cannot_go_on = std::move(end);
    rendezvous_.note_unable_node();
    member.join.waits_for = preparing.waits_for;
    rendezvous_.follow_readiness(link, now);
  }
}

/// Sends away a node that is unfit by --preflight strict or --preflight-command, if a spare can have its seat or the
/// job may be smaller. True: it has sent one away. Otherwise the job ends, after a last call for a spare if it may
/// have one.
bool Leader::leave_out_unfit(Instant now) {
  const std::vector<UnfitNode> unfit = preflight_.unfit();
  if (gang_.state != State::Rendezvous) {
    return false;
  }
  if (unfit.empty()) {
    return replace_barred(now);
  }
  const UnfitNode& first = unfit.front();
  const auto others = static_cast<std::size_t>(gang_.roster.seated() - 1) +
                      admission_.spares_for(*gang_.roster.find(first.link)->seat).size();
  const bool may_go = first.link != kOwnLink && !gang_.config.job.total_slots &&
                      others >= static_cast<std::size_t>(gang_.config.job.least_nodes);
  if (may_go) {
    note_unfit(first);
    departures_.send_away(first.link, make_end(EndKind::Unfit, first.why), first.how, now);
  } else if (first.link == kOwnLink || !gang_.can_start_again() || !preflight_.awaits_spare(now)) {
    std::ranges::for_each(unfit, [this](const UnfitNode& one) { note_unfit(one); });
    goodbye_.conclude(make_end(EndKind::Unfit, first.why + describe_other_unfit(unfit)), now);
  }
  return may_go;
}

/// "; also unfit: node 2 (host-c), node 3 (host-d)"; empty: there is only the first one.
std::string Leader::describe_other_unfit(const std::vector<UnfitNode>& unfit) const {
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::string> names;
  for (std::size_t i = 1; i < std::min(unfit.size(), kMostNamed + 1); ++i) {
    names.push_back(describe_seat(*gang_.roster.find(unfit[i].link)));
  }
  const std::string more = unfit.size() > kMostNamed + 1 ? ", ..." : "";
  return names.empty() ? "" : "; also unfit: " + join(names, ", ") + more;
}

/// Gives a spare the seat of a node that failed as often as --node-failures says. True: it has sent a node away.
bool Leader::replace_barred(Instant now) {
  if (!gang_.node_failures.has_barred() || gang_.config.job.total_slots) {
    return false;
  }
  for (const LinkId link : gang_.roster.in_order()) {
    const Member& member = *gang_.roster.find(link);
    const NodeName name = gang::name_of(member);
    if (link == kOwnLink || !gang_.node_failures.is_barred(name) || !admission_.has_spare_for(*member.seat)) {
      continue;
    }
    gang_.node_failures.set_left_out(name, true);
    gang_.record.suspects = gang_.node_failures.suspects();
    const std::string reason = describe_seat(member) + " is left out, and a spare has its seat: " +
                               describe_reasons(*gang_.node_failures.find(name));
    gang_.send(gang_.roster.links(), Announce{reason});
    departures_.send_away(link, make_end(EndKind::Unfit, reason), "has failed by itself", now);
    return true;
  }
  return false;
}

void Leader::note_unfit(const UnfitNode& unfit) {
  if (unfit.reason.empty()) {
    return;  // an earlier job has counted it
  }
  const Member& member = *gang_.roster.find(unfit.link);
  gang_.note_node_failure(
      NodeRank{*member.seat}, gang::name_of(member),
      "before attempt " + std::to_string(gang_.attempt.number()) + " (unfit: " + unfit.reason + ")");
}

void Leader::take(LinkId link, const Contribute& contribute, Instant now) {
  for (const ExchangeOutcome& outcome : gang_.exchange.take(link, contribute)) {
    const auto* const violation = std::get_if<Violation>(&outcome);
    if (violation != nullptr && link != kOwnLink) {
      departures_.disconnect(link, violation->why, now);
    } else if (violation != nullptr) {
      attempt_end_.carry_out(Error{ErrorKind::System, violation->why}, now);
    } else {
      attempt_end_.carry_out(outcome, now);
    }
  }
  rendezvous_.forget_pending();
  if (gang_.roster.find(link) != nullptr) {
    rendezvous_.follow_readiness(link, now);
  }
}

void Leader::take(LinkId link, const Failed& failed, Instant now) {
  const bool is_of_this = failed.attempt == gang_.attempt.number() && gang_.roster.find(link)->node_rank;
  if (!is_of_this || (gang_.state != State::Running && gang_.state != State::Stopping)) {
    return;
  }
  const auto failure = own_ranks_.own_failure(link, failed.failure);
  if (!failure) {
    return;
  }
  gang_.attempt.note_failure(*failure);
  if (gang_.state == State::Running && !suspension_.is_noticed()) {
    gang_.attempt.note_first_failure(*failure);
    attempt_end_.end_attempt(gang_.end_of(*failure), SIGTERM, now, describe_failure(*failure));
  }
}

void Leader::take(LinkId link, const Succeeded& succeeded, Instant now) {
  const Member& member = *gang_.roster.find(link);
  if (succeeded.attempt != gang_.attempt.number() || !member.node_rank ||
      (succeeded.pid > 0 && !own_ranks_.is_of(link, succeeded.global_rank))) {
    return;
  }
  if (gang_.state == State::Running || gang_.state == State::Stopping) {
    gang_.attempt.note_success(*member.node_rank, member.join.node.host, succeeded);
  }
  if (gang_.state == State::Running) {
    attempt_end_.note_success(link, succeeded, now);
  }
}

void Leader::take(LinkId link, const AttemptOver& ended, Instant now) {
  Member& member = *gang_.roster.find(link);
  if (ended.attempt != gang_.attempt.number() || member.has_ended) {
    return;
  }
  member.has_ended = true;
  gang_.attempt.note_node_ended();
  if (auto failure = ended.failure ? own_ranks_.own_failure(link, *ended.failure) : std::nullopt) {
    gang_.attempt.note_failure(std::move(*failure));
  }
  gang_.attempt.note_other_failures(own_ranks_.own_failures(link, ended.also_failed));
  gang_.attempt.note_erred_after_notice(ended.erred_after_notice, member.join.node.slots);
  gang_.attempt.note_progress(ended.made_progress);
  if (ended.gave_up && !gang_.restart_decider.is_forbidden()) {
    gang_.restart_decider.forbid_restarts();
    gang_.say(Level::Error, "node " + to_string(*member.node_rank) + ", " + describe(member) +
                                ", could not kill a process of attempt " + std::to_string(gang_.attempt.number()) +
                                ": muster starts no other attempt");
  }
  if (gang_.restart_decider.is_forbidden() && gang_.state == State::Stopping && !gang_.end) {
    gang_.end = gang_.attempt.end_without_restart();
  }
  if (member.leaving_after) {
    departures_.release(link, "was stopped by " + signal_name(*member.leaving_after), now);
  }
  if (gang_.state == State::Running && suspension_.is_noticed() && gang_.attempt.is_over()) {
    const EndKind kind = gang_.attempt.have_all_erred() ? suspension_.kind() : EndKind::Suspended;
    attempt_end_.end_suspended(suspension_.after_all_have_ended(now), now, kind);
    return;
  }
  attempt_end_.after_an_end(now);
}

void Leader::take(LinkId link, const StopFromAgent& asked, Instant now) {
  Member& member = *gang_.roster.find(link);
  if (member.leaving_after) {
    return;  // a repeated signal
  }
  if (link != kOwnLink && !member.seat) {  // a spare: the job does not need it
    member.leaving_after = asked.signal;
    departures_.release(link, "was stopped by " + signal_name(asked.signal), now);
    return;
  }
  if (asked.is_urgent) {
    attempt_end_.hurry(member, asked.signal, now);
    return;
  }
  if (asked.most_grace && gang_.state == State::Stopping) {
    attempt_end_.limit_grace(asked);
  }
  if (gang_.end || gang_.state == State::Finishing) {
    return;
  }
  if (link != kOwnLink && gang_.state == State::Rendezvous && gang_.attempt.number() == 0) {
    gang_.roster.leave_seat(link, "left: was stopped by " + signal_name(asked.signal));
    member.leaving_after = asked.signal;
    return;  // nothing has started: another node may take its place
  }
  if (link != kOwnLink && attempt_end_.can_continue_without(link, now)) {
    continue_without(link, asked.signal, now);
    return;
  }
  attempt_end_.stop_by_request(member, asked, now);
}

/// Ends the attempt because one node leaves, such as by a drain, if the job has another node or may be smaller.
void Leader::continue_without(LinkId link, int signal, Instant now) {
  Member& member = *gang_.roster.find(link);
  const std::string reason =
      "node " + std::to_string(*member.seat) + ", " + describe(member) + ", leaves after " + signal_name(signal);
  gang_.say(Level::Warning, reason + ": going on without it");
  member.leaving_after = signal;
  const bool is_missed = gang_.state == State::Running && member.is_missed_if_lost();
  if (member.has_ended) {
    departures_.release(link, "was stopped by " + signal_name(signal), now);
  }
  if (is_missed) {
    attempt_end_.end_attempt(make_end(EndKind::Lost, reason), SIGTERM, now);
  }
}

void Leader::take(LinkId /*link*/, const SuspendRequested& asked, Instant now) {
  if (asked.is_withdrawn) {
    withdraw_notice(now);
    return;
  }
  if (gang_.end || gang_.state == State::Finishing) {
    return;  // the job ends already
  }
  const std::string source = asked.source;
  if (gang_.state == State::Running) {
    suspension_.note_notice(source, asked.within, now);
  } else if (gang_.state == State::Stopping) {
    attempt_end_.end_without_restart(Suspension::end_by(source, "the workers were ending"), now);
  } else {
    goodbye_.conclude(Suspension::end_by(source, "no worker was running"), now);
  }
}

/// Withdraws a notice. A worker that has failed since the notice then counts as failed.
void Leader::withdraw_notice(Instant now) {
  if (!suspension_.is_noticed() || gang_.state != State::Running) {
    return;
  }
  gang_.attempt.take_first_failure();
  if (const auto& failure = gang_.attempt.first_failure()) {
    suspension_.forget();
    attempt_end_.end_attempt(gang_.end_of(*failure), SIGTERM, now, describe_failure(*failure));
  } else if (const std::string why = suspension_.withdraw(); !why.empty()) {
    attempt_end_.end_suspended(why, now);
  }
}

void Leader::take(LinkId /*link*/, const WorkSaved& saved, Instant now) {
  if (gang_.state == State::Running && saved.attempt == gang_.attempt.number()) {
    attempt_end_.end_suspended(suspension_.note_saved(saved.process, now), now);
  }
}

void Leader::take(LinkId link, const StatusQuery& asked, Instant /*now*/) {
  questions_.ask(link, asked);
}

void Leader::take(LinkId link, const StatusReport& report, Instant now) {
  if (preflight_.take(link, report, now)) {
    rendezvous_.try_start(now);
  } else {
    questions_.answer(link, report, preflight_.difference_of(link));
  }
}

void Leader::take(LinkId link, const Announce& announce, Instant now) {
  if ((!announce.begins_stall || own_ranks_.is_watcher(link)) && own_ranks_.may_announce(link, now)) {
    gang_.send(gang_.roster.links(), announce);
  }
}

/// Ends an attempt that hangs, but not after a notice: ranks that save may wait for each other.
void Leader::take(LinkId link, const Hung& hung, Instant now) {
  if (hung.attempt != gang_.attempt.number() || gang_.state != State::Running || suspension_.is_noticed() ||
      !own_ranks_.is_watcher(link)) {
    return;
  }
  if (hung.ranks.empty()) {
    attempt_end_.end_attempt(make_end(EndKind::Hung, hung.why), SIGABRT, now);
  } else {
    gang_.send(gang_.roster.links(), hung);
  }
}

void Leader::take(LinkId link, const auto& unexpected, Instant now) {
  departures_.disconnect(
      link, "sent the message '" + std::string(name_of(Message(unexpected))) + "', which no agent sends here", now);
}

}  // namespace muster::gang
