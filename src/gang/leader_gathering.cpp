// How the leader waits for nodes, and starts an attempt when they are here.
#include "durations.hpp"

#include <muster/base/text.hpp>
#include <muster/gang/leader.hpp>

#include <algorithm>

namespace muster::gang {
namespace {

using std::chrono::seconds;

constexpr seconds kProgressInterval{30};
constexpr std::size_t kSlowest = 3;
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
  if (roster_.seated() < policy_.least_nodes) {
    next_progress_ = now;
  }
  report_progress(now);
  try_start(now);
}

/// All are here; or enough are, and nobody else came within the last call.
bool Leader::is_complete(Instant now) const {
  const bool is_enough = roster_.seated() >= policy_.least_nodes;
  return roster_.seated() == policy_.most_nodes || (is_enough && last_call_ && now >= *last_call_);
}

void Leader::try_start(Instant now) {
  if (state_ != State::Gathering || waits_for_port_ || !roster_.holder(0)) {
    return;
  }
  if (roster_.seated() < policy_.least_nodes) {
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

void Leader::start_attempt(std::uint16_t port, Instant now) {
  nodes_ = roster_.in_order();
  first_failure_.reset();
  first_success_.reset();
  rank_zero_ended_ = false;
  made_progress_.reset();
  reason_.clear();
  early_exit_deadline_.reset();
  last_call_.reset();
  attempt_started_ = now;
  not_ended_ = nodes_.size();
  not_succeeded_ = nodes_.size();
  if (attempt_ == 0) {
    record_arrivals();
  }
  record_.nodes = static_cast<int>(nodes_.size());
  state_ = State::Running;

  Start start;
  start.attempt = attempt_;
  start.nodes = record_.nodes;
  start.master_address = workers_address();
  start.worker_port = port;
  start.orphan_limit_seconds =
      policy_.options.restarts.max_restarts > 0 ? seconds_of(policy_.options.heartbeat_timeout) : 0;
  start.slots_total = 0;
  for (const LinkId link : nodes_) {
    start.slots_total += roster_.find(link)->join.slots;
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Member& member = *roster_.find(nodes_[i]);
    member.node_rank = NodeRank{static_cast<int>(i)};
    member.has_succeeded = false;
    member.has_ended = false;
    start.node_rank = *member.node_rank;
    send(nodes_[i], start);
    start.slots_before += member.join.slots;
  }
}

/// When each agent was started, by our clock: it says itself how long it has waited for us.
void Leader::record_arrivals() {
  const auto started = [&](LinkId link) {
    const Member& member = *roster_.find(link);
    return member.came - std::chrono::duration_cast<Instant::duration>(
                             std::chrono::duration<double>(member.join.waited_seconds));
  };
  Instant first = started(nodes_.front());
  for (const LinkId link : nodes_) {
    first = std::min(first, started(link));
  }
  std::vector<Arrival> arrivals;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    arrivals.push_back({NodeRank{static_cast<int>(i)},
                        roster_.find(nodes_[i])->join.host,
                        seconds_of(started(nodes_[i]) - first)});
  }
  const auto shown = std::min(kSlowest, arrivals.size());
  std::partial_sort(arrivals.begin(),
                    arrivals.begin() + static_cast<std::ptrdiff_t>(shown),
                    arrivals.end(),
                    [](const Arrival& a, const Arrival& b) { return a.seconds > b.seconds; });
  arrivals.resize(shown);
  record_.arrival_skew_seconds = arrivals.front().seconds;
  record_.slowest = std::move(arrivals);
}

/// Where the others reached us: an address of our own, whatever name or service led them to it.
std::string Leader::workers_address() {
  if (nodes_.size() == 1 && policy_.most_nodes > 1) {
    return "127.0.0.1";  // the others never came: whatever led them here need not lead anywhere
  }
  std::string address;
  for (const LinkId link : nodes_) {
    const std::string& local = roster_.find(link)->local;
    const bool is_loopback = local.starts_with("127.") || local == "::1";
    if (!local.empty() && !is_loopback) {
      return local;
    }
    address = address.empty() ? local : address;
  }
  return address;
}

std::string Leader::describe_nodes() const {
  const bool is_range = policy_.least_nodes != policy_.most_nodes;
  return (is_range ? std::to_string(policy_.least_nodes) + " to " : std::string()) +
         std::to_string(policy_.most_nodes) + " nodes";
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
  const std::string progress = std::to_string(roster_.seated()) + " of " + describe_nodes() +
                               " are here after " + whole_seconds(now - gathering_since_) + ": " +
                               roster_.describe_missing(policy_.hosts, unresolved_hosts_) +
                               "; giving up in " + whole_seconds(gathering_deadline_ - now);
  say(Level::Info, progress);
  std::vector<LinkId> others = roster_.links();
  std::erase(others, kOwnLink);
  send(std::move(others), Waiting{progress});
}

void Leader::give_up_gathering(Instant now) {
  const std::string reason = std::to_string(roster_.seated()) + " of " + describe_nodes() +
                             " came within " + whole_seconds(policy_.options.timeout) + ": " +
                             roster_.describe_missing(policy_.hosts, unresolved_hosts_);
  conclude(attempt_ == 0 ? make_end(Verdict::Incomplete, kExitIncomplete, reason)
                         : make_end(Verdict::Lost, kExitLost, reason),
           now);
}

}  // namespace muster::gang
