// Decides which agents may join, and which of them get seats.
#include "gang/protocol/admission.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {
namespace {

/// Limit of remembered agents, more than any job has: a flood of joins must not fill the memory.
constexpr std::size_t kMostIncarnations = 100'000;
constexpr std::size_t kLeastSpares = 16;
/// Limit of a job's workers, more than any job has; their count fits an int.
constexpr int kMostSlots = 100'000'000;

}  // namespace

bool Admission::admit(const Joined& arrived, Instant now) {
  Member& member = gang_.roster.add(arrived.link, Member{});
  member.join = arrived.join;
  member.peer = arrived.peer;
  member.local = arrived.local;
  member.came = now;
  member.last_heard = now;
  gang_.exchange.add(arrived.link, arrived.join.contributes);
  note_readiness(arrived.link);
  if (const std::string reason = objection(arrived.join); !reason.empty()) {
    refuse(arrived.link, reason);
    return false;
  }
  if (gang_.state == LeaderState::Finishing) {  // it may belong to the next job of the same name
    refuse(arrived.link, "the job has ended, and its leader is leaving", /*may_retry=*/true);
    return false;
  }
  if (incarnations_.size() > kMostIncarnations) {
    incarnations_.clear();
  }
  incarnations_.insert(arrived.join.incarnation);
  return true;
}

/// Returns why an agent may not join; empty: it may.
std::string Admission::objection(const Join& join) const {
  if (join.protocol != kProtocol) {
    return "muster " + join.version + " speaks version " + std::to_string(join.protocol) +
           " of the protocol, the leader version " + std::to_string(kProtocol) + "; all nodes need the same muster";
  }
  if (std::string reason = describe_difference(join.job, gang_.config.job); !reason.empty()) {
    return reason;
  }
  if (incarnations_.contains(join.incarnation)) {
    return "its message has been received before";
  }
  if (join.node.slots > kMostSlots / std::max(1, gang_.roster.seated() + 1)) {
    return "it has " + std::to_string(join.node.slots) + " slots, which no node has";
  }
  if (join.node.rank && join.node.rank->value >= gang_.config.job.most_nodes) {
    return "its node rank is " + to_string(*join.node.rank) + ", and the job has " + gang_.describe_nodes();
  }
  return {};
}

/// True if this node's workers would make the job's count too large.
bool Admission::is_too_much(const Join& join) const {
  return gang_.config.job.total_slots && join.node.slots > *gang_.config.job.total_slots - gang_.roster.seated_slots();
}

bool Admission::place(LinkId link, Instant now) {
  Member& member = *gang_.roster.find(link);
  const bool may_sit = gang_.state == LeaderState::Rendezvous;
  const bool is_full = gang_.config.job.total_slots == gang_.roster.seated_slots();
  const std::optional<int> wanted = member.join.node.rank ? std::optional(member.join.node.rank->value) : std::nullopt;
  if (wanted && gang_.roster.holder(*wanted) == kOwnLink) {
    refuse(link, "node rank " + std::to_string(*wanted) + " is taken by " + describe(*gang_.roster.find(kOwnLink)) +
                     ", the leader");
  } else if (wanted && gang_.roster.holder(*wanted)) {
    // It may be a node that came back before its loss was noticed. The holder of the seat has until its next
    // heartbeat to show that it is alive.
    gang_.roster.claim(link, *wanted);
  } else if (gang_.roster.others() > gang_.config.most_links) {
    refuse(link, "the leader has file descriptors for " + count_of(gang_.config.most_links, "other node") +
                     " only (ulimit -Hn)");
  } else if (may_sit && !is_full && is_too_much(member.join)) {
    refuse(link, "with its " + count_of(static_cast<std::size_t>(member.join.node.slots), "worker") +
                     " there would be " + std::to_string(gang_.roster.seated_slots() + member.join.node.slots) +
                     ", and the job has " + gang_.describe_size());
  } else if (const auto seat = gang_.roster.free_seat_for(member); may_sit && seat && !is_full) {
    take_seat(link, *seat);
    return true;
  } else {
    keep_or_refuse(link, now);
  }
  return false;
}

void Admission::take_seat(LinkId link, int seat) {
  gang_.roster.take_seat(link, seat);
  const Member& member = *gang_.roster.find(link);
  if (link != kOwnLink) {
    gang_.say(Level::Debug,
              "node " + std::to_string(seat) + ", " + describe(member) + ", is here: " +
                  std::to_string(gang_.config.job.total_slots ? gang_.roster.seated_slots() : gang_.roster.seated()) +
                  " of " + gang_.describe_size());
  }
  gang_.send(link, Admitted{NodeRank{seat}, seconds_of(gang_.config.options.heartbeat_timeout)});
}

void Admission::keep_or_refuse(LinkId link, Instant now) {
  const Member& member = *gang_.roster.find(link);
  const bool is_full = gang_.config.job.total_slots ? gang_.config.job.total_slots == gang_.roster.seated_slots()
                                                    : !gang_.roster.free_seat();
  if (gang_.end || !(gang_.config.options.restarts.max_restarts > 0 || (gang_.can_scale_up() && !is_full))) {
    refuse(link, is_full ? "all " + gang_.describe_size() + " of the job are here already"
                         : "the job runs already, and it cannot restart (--max-restarts is 0)");
    return;
  }
  if (gang_.roster.spares().size() > kLeastSpares + static_cast<std::size_t>(gang_.config.job.most_nodes)) {
    refuse(link, "there are more spares than the job has nodes", /*may_retry=*/true);
    return;
  }
  gang_.say(Level::Info, describe(member) + " is a spare: it waits until a node is needed");
  notify_spares({link}, gang_.attempt.number() > 0 || gang_.state != LeaderState::Rendezvous);
  note_newcomers(now);
}

void Admission::notify_spares(std::vector<LinkId> spares, bool does_job_run) {
  gang_.send(std::move(spares),
             Admitted{std::nullopt, seconds_of(gang_.config.options.heartbeat_timeout), does_job_run});
}

void Admission::refuse(LinkId link, std::string reason, bool may_retry) {
  constexpr int kNamed = 10;  // an agent that retries endlessly must not fill the log: the links count it
  if (refusals_ < kNamed) {
    gang_.say(Level::Warning, "refused " + describe(*gang_.roster.find(link)) + ": " + reason +
                                  (++refusals_ == kNamed ? "; further ones are counted" : ""));
  }
  if (!may_retry) {
    gang_.roster.note_refusal(link, reason);
  }
  gang_.send(link, Refused{std::move(reason), may_retry});
  gang_.drop(link);
  gang_.roster.remove(link);
  (void)gang_.exchange.forget(link);  // it is in no attempt
}

void Admission::refuse_claimants(int seat) {
  for (const LinkId link : gang_.roster.claimants(seat)) {
    refuse(link, "node rank " + std::to_string(seat) + " is taken by " +
                     describe(*gang_.roster.find(*gang_.roster.holder(seat))));
  }
}

bool Admission::is_barred(LinkId link) const {
  return gang_.node_failures.has_barred() && gang_.node_failures.is_barred(name_of(*gang_.roster.find(link)));
}

bool Admission::has_spare_for(int seat) const {
  const std::vector<LinkId> spares = gang_.roster.spares();
  return std::ranges::any_of(spares, [&](LinkId link) {
    return gang_.roster.is_ready(link) && !is_barred(link) && gang_.roster.fits(*gang_.roster.find(link), seat);
  });
}

std::vector<LinkId> Admission::spares_for(int seat) const {
  std::vector<LinkId> spares = gang_.roster.spares();
  std::erase_if(spares, [&](LinkId link) {
    const Member& member = *gang_.roster.find(link);
    return !gang_.roster.fits(member, seat) && !gang_.roster.free_seat_for(member);
  });
  return spares;
}

void Admission::seat_spares() {
  std::vector<LinkId> spares = gang_.roster.spares();
  std::stable_partition(spares.begin(), spares.end(), [this](LinkId link) { return !is_barred(link); });
  for (const LinkId link : spares) {
    const Member& member = *gang_.roster.find(link);
    const auto seat = gang_.roster.free_seat_for(member);
    const bool is_wanted = gang_.roster.is_ready(link) || gang_.config.job.total_slots ||
                           gang_.roster.seated() < gang_.config.job.least_nodes;
    if (is_wanted && seat && !is_too_much(member.join)) {
      take_seat(link, *seat);
    }
  }
}

void Admission::note_readiness(LinkId link) {
  const std::string missing = gang_.exchange.missing(link);
  const std::string& inputs = gang_.roster.find(link)->join.waits_for;
  gang_.roster.note_inputs(link,
                           inputs.empty() && !missing.empty() ? "its " + missing + " to reach the leader" : inputs);
}

std::vector<LinkId> Admission::newcomers() const {
  std::vector<LinkId> found;
  std::set<int> taken;
  const auto room = static_cast<std::size_t>(gang_.roster.seats() - gang_.roster.seated());
  for (const LinkId link : gang_.roster.spares()) {
    const bool may_come = found.size() < room && gang_.roster.is_ready(link) && !is_barred(link);
    const auto seat = may_come ? gang_.roster.free_seat_for(*gang_.roster.find(link), taken) : std::nullopt;
    if (seat) {
      taken.insert(*seat);
      found.push_back(link);
    }
  }
  return found;
}

/// Several new nodes cause one restart: the first ones wait for a last call, unless the job is then complete.
void Admission::note_newcomers(Instant now) {
  if (gang_.state != LeaderState::Running || !gang_.can_scale_up()) {
    newcomers_call_.cancel();
    return;
  }
  const auto count = static_cast<int>(newcomers().size());
  newcomers_call_.note(count > 0, gang_.roster.seated() + count < gang_.roster.seats(), now);
}

}  // namespace muster::gang
