// The leader's decisions about agents: who may join, who sits where, what becomes of an empty seat.
#include "gang/protocol/differences.hpp"
#include "gang/protocol/leader.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace muster::gang {
namespace {

/// More than any job has agents; a flood of joins must not fill the memory.
constexpr std::size_t kMostIncarnations = 100'000;
constexpr std::size_t kLeastSpares = 16;
/// More workers than that no job has, and their count fits an int.
constexpr int kMostSlots = 100'000'000;

}  // namespace

void Leader::handle(const Joined& arrived, Instant now) {
  Member& member = roster_.add(arrived.link, Member{});
  member.join = arrived.join;
  member.peer = arrived.peer;
  member.local = arrived.local;
  member.came = now;
  member.last_heard = now;
  exchange_.add(arrived.link, arrived.join.contributes);
  note_readiness(arrived.link);
  if (const std::string reason = objection(arrived.join); !reason.empty()) {
    refuse(arrived.link, reason);
    return;
  }
  if (state_ == State::Finishing) {  // of the job that is to follow under the same name
    refuse(arrived.link, "the job has ended, and its leader is leaving", /*may_retry=*/true);
    return;
  }
  if (incarnations_.size() > kMostIncarnations) {
    incarnations_.clear();
  }
  incarnations_.insert(arrived.join.incarnation);
  place(arrived.link, now);
}

/// Why an agent may not join; empty when it may.
std::string Leader::objection(const Join& join) const {
  if (join.protocol != kProtocol) {
    return "muster " + join.version + " speaks version " + std::to_string(join.protocol) +
           " of the protocol, the leader version " + std::to_string(kProtocol) +
           "; all nodes need the same muster";
  }
  if (std::string reason = describe_difference(join.job, policy_.job); !reason.empty()) {
    return reason;
  }
  if (incarnations_.contains(join.incarnation)) {
    return "its message has been received before";
  }
  if (join.node.slots > kMostSlots / std::max(1, roster_.seated() + 1)) {
    return "it has " + std::to_string(join.node.slots) + " slots, which no node has";
  }
  if (join.node.rank && join.node.rank->value >= policy_.job.most_nodes) {
    return "its node rank is " + to_string(*join.node.rank) + ", and the job has " +
           describe_nodes();
  }
  return {};
}

/// With its workers the job would have more than it is to have.
bool Leader::is_too_much(const Join& join) const {
  return policy_.job.total_slots &&
         join.node.slots > *policy_.job.total_slots - roster_.seated_slots();
}

void Leader::place(LinkId link, Instant now) {
  Member& member = *roster_.find(link);
  const bool may_sit = state_ == State::RendezvousTimer;
  const bool is_full = policy_.job.total_slots == roster_.seated_slots();
  const std::optional<int> wanted =
      member.join.node.rank ? std::optional(member.join.node.rank->value) : std::nullopt;
  if (wanted && roster_.holder(*wanted) == kOwnLink) {
    refuse(link,
           "node rank " + std::to_string(*wanted) + " is taken by " +
               describe(*roster_.find(kOwnLink)) + ", the leader");
  } else if (wanted && roster_.holder(*wanted)) {
    // It may be a node that came back before its loss was noticed. Who sits there has until its next
    // heartbeat to show that it is alive.
    roster_.claim(link, *wanted);
  } else if (roster_.others() > policy_.most_links) {
    refuse(link,
           "the leader has file descriptors for " + count_of(policy_.most_links, "other node") +
               " only (ulimit -Hn)");
  } else if (may_sit && !is_full && is_too_much(member.join)) {
    refuse(link,
           "with its " + count_of(static_cast<std::size_t>(member.join.node.slots), "worker") +
               " there would be " +
               std::to_string(roster_.seated_slots() + member.join.node.slots) +
               ", and the job has " + describe_size());
  } else if (const auto seat = wanted ? wanted : roster_.free_seat(); may_sit && seat && !is_full) {
    sit_down(link, *seat);
    try_start(now);
  } else {
    keep_or_refuse(link, now);
  }
}

void Leader::sit_down(LinkId link, int seat) {
  roster_.sit_down(link, seat);
  const Member& member = *roster_.find(link);
  if (link != kOwnLink) {
    say(Level::Debug,
        "node " + std::to_string(seat) + ", " + describe(member) + ", is here: " +
            std::to_string(policy_.job.total_slots ? roster_.seated_slots() : roster_.seated()) +
            " of " + describe_size());
  }
  send(link, Admitted{NodeRank{seat}, seconds_of(policy_.options.heartbeat_timeout)});
}

/// There is no seat for it in this attempt.
void Leader::keep_or_refuse(LinkId link, Instant now) {
  const Member& member = *roster_.find(link);
  const bool is_full = policy_.job.total_slots ? policy_.job.total_slots == roster_.seated_slots()
                                               : !roster_.free_seat();
  if (end_ || !(policy_.options.restarts.max_restarts > 0 || (can_scale_up() && !is_full))) {
    refuse(link,
           is_full ? "all " + describe_size() + " of the job are here already"
                   : "the job runs already, and it cannot restart (--max-restarts is 0)");
    return;
  }
  if (roster_.spares().size() > kLeastSpares + static_cast<std::size_t>(policy_.job.most_nodes)) {
    refuse(link, "there are more spares than the job has nodes", /*may_retry=*/true);
    return;
  }
  say(Level::Info, describe(member) + " is a spare: it waits until a node is needed");
  notify_spares({link}, attempt_.number() > 0 || state_ != State::RendezvousTimer);
  note_newcomers(now);
}

void Leader::notify_spares(std::vector<LinkId> spares, bool does_job_run) {
  send(std::move(spares),
       Admitted{std::nullopt, seconds_of(policy_.options.heartbeat_timeout), does_job_run});
}

void Leader::refuse(LinkId link, std::string reason, bool may_retry) {
  constexpr int kNamed =
      10;  // who asks again and again must not fill the log: the links count them
  if (refusals_ < kNamed) {
    say(Level::Warning,
        "refused " + describe(*roster_.find(link)) + ": " + reason +
            (++refusals_ == kNamed ? "; further ones are counted" : ""));
  }
  if (!may_retry) {
    roster_.note_refusal(link, reason);
  }
  send(link, Refused{std::move(reason), may_retry});
  actions_.emplace_back(Drop{link});
  roster_.remove(link);
  (void)exchange_.forget(link);  // it is in no attempt
}

/// Who sits there is alive: nobody else may.
void Leader::settle_claims(int seat) {
  for (const LinkId link : roster_.claimants(seat)) {
    refuse(link,
           "node rank " + std::to_string(seat) + " is taken by " +
               describe(*roster_.find(*roster_.holder(seat))));
  }
}

void Leader::place_claimants(int seat, Instant now) {
  for (const LinkId link : roster_.claimants(seat)) {
    roster_.withdraw_claim(link);
    place(link, now);
  }
}

/// Those who wait take the seats that are free: first their own, then any. Who is not ready is seated
/// only where the job needs it.
void Leader::seat_spares() {
  for (const LinkId link : roster_.spares()) {
    const auto wanted = roster_.find(link)->join.node.rank;
    const auto seat = wanted ? std::optional(wanted->value) : roster_.free_seat();
    const bool is_wanted = roster_.is_ready(link) || policy_.job.total_slots ||
                           roster_.seated() < policy_.job.least_nodes;
    if (is_wanted && seat && !roster_.holder(*seat) && !is_too_much(roster_.find(link)->join)) {
      sit_down(link, *seat);
    }
  }
}

void Leader::handle(const AuthFailed& stranger, Instant /*now*/) {
  roster_.note_stranger(stranger.peer, stranger.why);
}

void Leader::handle(const LinkLost& lost, Instant now) {
  Member* const member = roster_.find(lost.link);
  if (member == nullptr) {
    return;
  }
  const bool is_in_attempt = !member->has_ended;
  if (is_in_attempt) {
    lose(lost.link, lost.why, now);
  } else {
    release(lost.link, lost.why, now);
  }
  dissolve_if_alone();
}

/// It is no member any more. Nothing of the attempt is alive there, or it is accounted for.
void Leader::release(LinkId link, const std::string& why, Instant now) {
  Member& member = *roster_.find(link);
  const auto seat = member.seat;
  const std::string name = describe(member);
  if (seat) {
    roster_.stand_up(link, "left: " + why);
  }
  if (member.leaving_after) {
    send(link, Finish{recorded(end_by_signal(*member.leaving_after))});
    actions_.emplace_back(Drop{link});
  }
  roster_.remove(link);
  if (seat && state_ == State::RendezvousTimer) {
    say(Level::Info, "node " + std::to_string(*seat) + ", " + name + ", left: it " + why);
  }
  if (seat) {
    place_claimants(*seat, now);
  }
  if (seat && state_ == State::RendezvousTimer) {
    seat_spares();
    try_start(now);  // fewer may be too few for the last call
  }
  note_newcomers(now);
  carry_out(exchange_.forget(link), now);
}

}  // namespace muster::gang
