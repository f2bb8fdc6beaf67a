// How the leader waits for nodes, and says so. What follows is in leader_start.cpp.
#include "durations.hpp"
#include "leader.hpp"

#include <muster/base/text.hpp>

#include <algorithm>

namespace muster::gang {
namespace {

using std::chrono::seconds;

constexpr seconds kProgressInterval{30};
constexpr std::size_t kHostsLookedUp = 8;

}  // namespace

void Leader::gather(Instant now) {
  state_ = State::Gathering;
  gathering_since_ = now;
  gathering_deadline_ = now + policy_.options.timeout;
  next_progress_ = now + kFirstProgress;
  looked_up_hosts_ = false;
  unresolved_hosts_.clear();
  seat_spares();
  if (!is_enough()) {
    next_progress_ = now;
  }
  report_progress(now);
  try_start(now);
}

/// With these the job may start. Where workers are counted, the node ranks must have no gap either.
bool Leader::is_enough() const {
  if (policy_.total_slots) {
    return roster_.seated_slots() == *policy_.total_slots &&
           roster_.end_of_seated() == roster_.seated();
  }
  return roster_.seated() >= policy_.least_nodes;
}

/// All are here; or enough are, and nobody else came within the last call.
bool Leader::is_complete(Instant now) const {
  const bool is_all = policy_.total_slots || roster_.seated() == policy_.most_nodes;
  return is_enough() && (is_all || (last_call_ && now >= *last_call_));
}

void Leader::try_start(Instant now) {
  if (state_ != State::Gathering || waits_for_port_ || !roster_.holder(0)) {
    return;
  }
  if (!is_enough()) {
    last_call_.reset();
    return;
  }
  if (!last_call_) {
    // Who was here before has been waited for already.
    last_call_ =
        attempt_ > 0 ? now : std::min(now + policy_.options.last_call, gathering_deadline_);
  }
  if (is_complete(now)) {
    waits_for_port_ = true;
    actions_.emplace_back(ReservePort{});
  }
}

std::string Leader::describe_nodes() const {
  const bool is_range = policy_.least_nodes != policy_.most_nodes;
  return (is_range ? std::to_string(policy_.least_nodes) + " to " : std::string()) +
         std::to_string(policy_.most_nodes) + " nodes";
}

/// What the job counts: "4 nodes", "2 to 4 nodes", "8 workers".
std::string Leader::describe_size() const {
  return policy_.total_slots ? count_of(static_cast<std::size_t>(*policy_.total_slots), "worker")
                             : describe_nodes();
}

/// "3 of 4 nodes came within 60 s: node 2 never connected"; where workers are counted, nobody knows
/// how many nodes there should be: "5 of 8 workers came within 60 s, on 2 nodes". `how` follows the
/// number, as in "came within 60 s".
std::string Leader::describe_waiting(const std::string& how) const {
  if (!policy_.total_slots) {
    return std::to_string(roster_.seated()) + " of " + describe_nodes() + " " + how + ": " +
           roster_.describe_missing(policy_.hosts, unresolved_hosts_, roster_.seats());
  }
  const bool is_all = roster_.seated_slots() == *policy_.total_slots;
  const std::string missing =
      roster_.describe_missing(policy_.hosts, unresolved_hosts_, roster_.end_of_seated());
  return std::to_string(roster_.seated_slots()) + " of " + describe_size() + " " + how + ", on " +
         count_of(static_cast<std::size_t>(roster_.seated()), "node") +
         (is_all ? ", and their node ranks have a gap" : "") +
         (missing.empty() ? "" : ": " + missing);
}

void Leader::look_up_hosts() {
  looked_up_hosts_ = true;
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
  if (!looked_up_hosts_ && now >= gathering_deadline_ - kLookUpAhead) {
    look_up_hosts();
  }
  if (now < next_progress_ || now >= gathering_deadline_) {
    return;
  }
  next_progress_ = now + kProgressInterval;
  const std::string progress =
      describe_waiting("are here after " + whole_seconds(now - gathering_since_)) +
      "; giving up in " + whole_seconds(gathering_deadline_ - now);
  say(Level::Info, progress);
  std::vector<LinkId> others = roster_.links();
  std::erase(others, kOwnLink);
  send(std::move(others), Waiting{progress});
}

void Leader::give_up_gathering(Instant now) {
  const std::string reason =
      describe_waiting("came within " + whole_seconds(policy_.options.timeout));
  conclude(attempt_ == 0 ? make_end(EndKind::Incomplete, reason) : make_end(EndKind::Lost, reason),
           now);
}

}  // namespace muster::gang
