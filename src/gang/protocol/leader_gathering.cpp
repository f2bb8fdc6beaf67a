// How the leader waits for nodes, and says so. What follows is in leader_start.cpp.
#include "gang/protocol/durations.hpp"
#include "gang/protocol/leader.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {
namespace {

constexpr std::size_t kHostsLookedUp = 8;

}  // namespace

void Leader::gather(Instant now) {
  state_ = State::RendezvousTimer;
  pending_.clear();
  start_due_.reset();
  rendezvous_timer_.begin(now);
  if (end_for_missing_nodes(now)) {
    return;
  }
  seat_spares();
  if (!is_enough()) {
    rendezvous_timer_.log_progress_at(now);
  }
  report_progress(now);
  try_start(now);
}

/// With these the job may start. Where workers are counted, the node ranks must have no gap either.
bool Leader::is_enough() const {
  if (policy_.job.total_slots) {
    return roster_.seated_slots() == *policy_.job.total_slots &&
           roster_.end_of_seated() == roster_.seated();
  }
  return roster_.seated() >= policy_.job.least_nodes;
}

/// With those that are ready the job may start: who is not has not come, as it were. But without the
/// leader's node there is no job, and where workers are counted nobody can be left out.
bool Leader::is_enough_ready() const {
  if (policy_.job.total_slots || policy_.job.least_nodes == policy_.job.most_nodes) {
    return is_enough() && roster_.is_ready();
  }
  return roster_.seated_ready() >= policy_.job.least_nodes && roster_.is_ready(kOwnLink);
}

/// Nodes that could still come, or that are here and not ready. Who is absent is waited for once.
bool Leader::is_anybody_awaited() const {
  const bool is_all = policy_.job.total_slots || roster_.seated() == policy_.job.most_nodes;
  return !roster_.is_ready() || (!is_all && attempt_.number() == 0);
}

/// What those who are here have does not fit together, as they know.
bool Leader::is_pending() const {
  return !pending_.empty() && pending_for_ == roster_.in_order();
}

/// Somebody has not what it needs: the job ends, if it is in the middle of a wait for nodes. Those who are on their way
/// to the first attempt are to hear of it, too.
bool Leader::end_for_missing_nodes(Instant now) {
  const auto links = roster_.in_order();
  const auto unable = std::find_if(links.begin(), links.end(), [this](LinkId link) {
    return roster_.find(link)->cannot_go_on.has_value();
  });
  if (unable == links.end()) {
    return false;
  }
  JobEnd end = *roster_.find(*unable)->cannot_go_on;
  if (attempt_.number() > 0 || is_enough() || rendezvous_timer_.is_end_due(now)) {
    conclude(std::move(end), now);
  } else if (!rendezvous_timer_.is_ending()) {
    rendezvous_timer_.note_end(now);
    say(Level::Error,
        end.reason + ": ending the job, in at most " + whole_seconds(kTimeToTellWhy) +
            ", so that nodes that are on their way hear of it");
  }
  return true;
}

void Leader::try_start(Instant now) {
  if (state_ != State::RendezvousTimer || end_for_missing_nodes(now)) {
    return;
  }
  if (waits_for_port_ || !roster_.holder(0)) {
    return;
  }
  rendezvous_timer_.note_enough(is_enough_ready() && !is_pending(), is_anybody_awaited(), now);
  if (!rendezvous_timer_.is_last_call_over(now)) {
    start_due_.reset();
  } else if (!is_seat_in_doubt(now)) {
    waits_for_port_ = true;
    actions_.emplace_back(ReservePort{});
  }
}

/// A node that may be gone is not started with. It has a heartbeat timeout to say something, else the seat is that of
/// who claims it; new claims give nobody more time.
bool Leader::is_seat_in_doubt(Instant now) {
  constexpr std::chrono::seconds kJustHeard{1};
  start_due_ = start_due_.value_or(now);
  if (roster_.is_seat_in_doubt(*start_due_ - kJustHeard)) {
    return true;
  }
  start_due_.reset();
  return false;
}

std::string Leader::describe_nodes() const {
  const bool is_range = policy_.job.least_nodes != policy_.job.most_nodes;
  return (is_range ? std::to_string(policy_.job.least_nodes) + " to " : std::string()) +
         count_of(static_cast<std::size_t>(policy_.job.most_nodes), "node");
}

/// What the job counts: "4 nodes", "2 to 4 nodes", "8 workers".
std::string Leader::describe_size() const {
  return policy_.job.total_slots
             ? count_of(static_cast<std::size_t>(*policy_.job.total_slots), "worker")
             : describe_nodes();
}

/// "3 of 4 nodes came within 60 s: node 2 never connected"; where workers are counted, nobody knows
/// how many nodes there should be: "5 of 8 workers came within 60 s, on 2 nodes". `how` follows the
/// number, as in "came within 60 s".
std::string Leader::describe_waiting(const std::string& how) const {
  const auto describe_absent = [&](int expected) {
    const std::string missing =
        roster_.describe_missing(policy_.hosts, rendezvous_timer_.unresolved(), expected);
    const std::string unready = roster_.describe_unready();
    std::vector<std::string> all = {missing, unready, pending_};
    std::erase(all, "");
    return join(all, "; ");
  };
  if (!policy_.job.total_slots) {
    return std::to_string(roster_.seated()) + " of " + describe_nodes() + " " + how + ": " +
           describe_absent(roster_.seats());
  }
  const bool is_all = roster_.seated_slots() == *policy_.job.total_slots;
  const std::string absent =
      describe_absent(std::max(policy_.job.least_nodes, roster_.end_of_seated()));
  return std::to_string(roster_.seated_slots()) + " of " + describe_size() + " " + how + ", on " +
         count_of(static_cast<std::size_t>(roster_.seated()), "node") +
         (is_all ? ", and their node ranks have a gap" : "") +
         (absent.empty() ? "" : ": " + absent);
}

void Leader::resolve_hosts() {
  std::vector<std::string> names;
  for (const int seat : roster_.missing()) {
    const auto index = static_cast<std::size_t>(seat);
    if (index < policy_.hosts.size() && policy_.hosts[index] && names.size() < kHostsLookedUp) {
      names.push_back(*policy_.hosts[index]);
    }
  }
  if (!names.empty()) {
    actions_.emplace_back(LookUpHosts{std::move(names)});
  }
}

void Leader::report_progress(Instant now) {
  if (rendezvous_timer_.take_resolve(now)) {
    resolve_hosts();
  }
  if (!rendezvous_timer_.take_progress(now) || rendezvous_timer_.is_ending()) {
    return;
  }
  const bool is_one = policy_.job.total_slots.value_or(policy_.job.most_nodes) == 1;
  // A node that waits for something may give up by itself before that.
  const std::string progress = describe_waiting((is_one ? "is here after " : "are here after ") +
                                                whole_seconds(now - rendezvous_timer_.since())) +
                               "; giving up in " +
                               (roster_.is_ready() && !is_pending() ? "" : "at most ") +
                               whole_seconds(rendezvous_timer_.deadline() - now);
  say(Level::Info, progress);
  std::vector<LinkId> others = roster_.links();
  std::erase(others, kOwnLink);
  send(std::move(others), Waiting{progress});
}

void Leader::check_deadlines(Instant now) {
  if (is_pending() && rendezvous_timer_.is_pending_in_vain(now)) {
    conclude(make_end(EndKind::Incomplete,
                      "waited " + whole_seconds(policy_.options.inputs_timeout) +
                          " in vain: " + pending_),
             now);
  } else if (now >= rendezvous_timer_.deadline()) {
    give_up_gathering(now);
  }
}

void Leader::give_up_gathering(Instant now) {
  const std::string reason =
      describe_waiting("came within " + whole_seconds(policy_.options.timeout));
  conclude(attempt_.number() == 0 ? make_end(EndKind::Incomplete, reason)
                                  : make_end(EndKind::Lost, reason),
           now);
}

}  // namespace muster::gang
