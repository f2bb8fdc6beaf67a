// How the leader starts an attempt: who is which node, where the workers meet, who listens where.
#include "durations.hpp"
#include "encoding.hpp"
#include "leader.hpp"

#include <algorithm>

namespace muster::gang {
namespace {

constexpr std::size_t kSlowest = 3;

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

}  // namespace

void Leader::start_attempt(std::uint16_t port, Instant now) {
  Ports ports = ports_of(roster_.in_order());
  if (const std::string excess = describe_excess(ports); !excess.empty()) {
    conclude(make_end(EndKind::SystemRefused, "the nodes cannot be told all ports: " + excess),
             now);
    return;
  }
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
  start.master_address = workers_address(nodes_);
  start.worker_port = port;
  start.orphan_limit_seconds =
      policy_.options.restarts.max_restarts > 0 ? seconds_of(policy_.options.heartbeat_timeout) : 0;
  start.slots_total = roster_.seated_slots();
  if (!ports.nodes.empty()) {
    send(nodes_, std::move(ports));
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
std::string Leader::workers_address(const std::vector<LinkId>& nodes) {
  if (nodes.size() == 1 && policy_.most_nodes > 1) {
    return "127.0.0.1";  // the others never came: whatever led them here need not lead anywhere
  }
  std::string address;
  for (const LinkId link : nodes) {
    const std::string& local = roster_.find(link)->local;
    if (!local.empty() && !is_loopback(local)) {
      return local;
    }
    address = address.empty() ? local : address;
  }
  return address;
}

/// Where the workers of each node listen; nothing where no node has reserved a port. Who came over
/// loopback is on this machine, which the others reach as they reach us.
Ports Leader::ports_of(const std::vector<LinkId>& nodes) {
  const bool is_any = std::any_of(nodes.begin(), nodes.end(), [&](LinkId link) {
    return !roster_.find(link)->join.ports.empty();
  });
  Ports ports{attempt_, {}};
  if (!is_any) {
    return ports;
  }
  const std::string here = workers_address(nodes);
  for (const LinkId link : nodes) {
    const Member& member = *roster_.find(link);
    const bool is_here = member.peer.empty() || is_loopback(member.peer);
    ports.nodes.push_back({is_here ? here : member.peer, member.join.ports, member.join.slots});
  }
  return ports;
}

}  // namespace muster::gang
