// Takes nodes that are silent, late, sent away or lost out of the job, and decides what each loss means.
#include "gang/protocol/departures.hpp"

#include "base/text.hpp"
#include "gang/protocol/gang_state.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace muster::gang {

std::vector<LinkId> SilenceCheck::look(Roster& roster, Instant now) {
  std::vector<LinkId> silent;
  if (now < next_) {
    return silent;
  }
  const auto moment = std::min<std::chrono::milliseconds>(timeout_ / 8, std::chrono::seconds(1));
  const Instant::duration asleep = now - next_ > moment ? now - next_ : Instant::duration(0);
  Instant first = now + timeout_;
  std::set<LinkId> suspects;
  for (auto& [link, member] : roster.members()) {
    member.last_heard = std::min(member.last_heard + asleep, now);
    const bool is_late = link != kOwnLink && now - member.last_heard >= timeout_;
    if (is_late && suspects_.contains(link)) {
      silent.push_back(link);
    } else if (is_late) {
      suspects.insert(link);
    } else if (link != kOwnLink) {
      first = std::min(first, member.last_heard + timeout_);
    }
  }
  suspects_ = std::move(suspects);
  next_ = suspects_.empty() ? std::max(first, now + moment) : now + moment;
  return silent;
}

Departures::Departures(GangState& gang, const Parts& parts, Instant now)
    : gang_(gang), parts_(parts), silence_(gang.config.options.heartbeat_timeout, now) {}

void Departures::note_lost_link(LinkId link, const std::string& why, Instant now) {
  note_loss(link, why, now);
  part_with(link, why, now);
}

void Departures::note_standstill(const StoodStill& still, Instant now) {
  standstill_.note(still, gang_.config.options.heartbeat_timeout, now);
}

void Departures::drop_silent_nodes(Instant now) {
  for (const LinkId link : silence_.look(gang_.roster, now)) {
    const std::string why = "was silent for " + whole_seconds(gang_.config.options.heartbeat_timeout);
    note_loss(link, why, now);
    disconnect(link, why, now);
  }
}

void Departures::give_up_late_nodes(Instant now) {
  for (const LinkId link : parts_.attempt_end.take_late_nodes(now)) {
    const Member* const member = gang_.roster.find(link);
    if (member != nullptr && !member->has_ended) {
      gang_.say(Level::Warning, "node " + to_string(*member->node_rank) + ", " + describe(*member) +
                                    ", does not say that its workers have ended: going on without it");
      lose(link, "did not say that its workers have ended", now);
      gang_.drop(link);
    }
  }
}

void Departures::disconnect(LinkId link, const std::string& why, Instant now) {
  if (gang_.roster.find(link) != nullptr) {
    part_with(link, why, now);
    gang_.drop(link);
  }
}

void Departures::part_with(LinkId link, const std::string& why, Instant now) {
  const Member* const member = gang_.roster.find(link);
  if (member != nullptr && !member->has_ended) {
    lose(link, why, now);
  } else if (member != nullptr) {
    release(link, why, now);
  }
  parts_.goodbye.dissolve_if_alone();
}

/// Notes a loss. Its reason is empty if the node was asked to leave, ran out of memory, or this node stood still.
void Departures::note_loss(LinkId link, const std::string& why, Instant now) {
  const Member* const member = gang_.roster.find(link);
  if (member != nullptr && !member->has_ended) {
    const bool is_own =
        !member->leaving_after && member->memory.describe(now).empty() && !standstill_.explains_losses(now);
    gang_.node_failures.note_loss({*member->node_rank, is_own ? why : ""});
  }
}

/// A node of this attempt is lost, and its processes may still be alive.
void Departures::lose(LinkId link, const std::string& why, Instant now) {
  Member& member = *gang_.roster.find(link);
  const std::string name = "node " + to_string(*member.node_rank) + ", " + describe(member) + ",";
  const std::string reason = standstill_.describe_loss(name, why, now) + member.memory.describe(now);
  gang_.fence.note_loss(member.last_heard);
  member.has_ended = true;
  gang_.attempt.note_node_ended();
  const bool is_missed = gang_.state == LeaderState::Running && member.is_missed_if_lost();
  if (is_missed) {
    gang_.exchange.end();  // no node gets a value that lacks its part
  }
  release(link, why, now);
  if (is_missed) {
    parts_.attempt_end.end_attempt(
        parts_.suspension.is_noticed() ? parts_.suspension.end(reason) : make_end(EndKind::Lost, reason), SIGTERM, now);
  } else {
    parts_.attempt_end.after_an_end(now);
  }
}

/// The agent ends with `end`; "node 3, gpu-3 (10.0.0.4), left: it <why>".
void Departures::send_away(LinkId link, JobEnd end, const std::string& why, Instant now) {
  gang_.send(link, Finish{gang_.recorded(std::move(end))});
  gang_.drop(link);
  release(link, why, now);
}

/// Removes a member. None of its processes of the attempt is alive, or the fence covers them.
void Departures::release(LinkId link, const std::string& why, Instant now) {
  Member& member = *gang_.roster.find(link);
  const auto seat = member.seat;
  const std::string name = describe(member);
  if (seat) {
    gang_.roster.leave_seat(link, "left: " + why);
  }
  if (member.leaving_after) {
    gang_.send(link, Finish{gang_.recorded(end_by_signal(*member.leaving_after))});
    gang_.drop(link);
  }
  gang_.roster.remove(link);
  parts_.preflight.forget(link);
  if (seat && gang_.state == LeaderState::Rendezvous) {
    gang_.say(Level::Info, "node " + std::to_string(*seat) + ", " + name + ", left: it " + why);
  }
  if (seat) {
    parts_.rendezvous.place_claimants(*seat, now);
  }
  if (seat && gang_.state == LeaderState::Rendezvous) {
    parts_.admission.seat_spares();
    parts_.rendezvous.try_start(now);  // with fewer nodes the last call may no longer run
  }
  parts_.admission.note_newcomers(now);
  for (const ExchangeOutcome& outcome : gang_.exchange.forget(link)) {
    parts_.attempt_end.carry_out(outcome, now);
  }
}

}  // namespace muster::gang
