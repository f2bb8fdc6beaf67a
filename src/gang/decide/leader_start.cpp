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
  attempt_.begin(roster_.in_order(), now);
  early_exit_.begin();
  if (attempt_.number() == 0) {
    record_arrivals();
  }
  record_.nodes = static_cast<int>(attempt_.nodes().size());
  state_ = State::Running;

  Start start;
  Placement& placement = start.placement;
  placement.attempt = attempt_.number();
  placement.max_restarts = policy_.options.restarts.max_restarts;
  placement.nodes = record_.nodes;
  placement.master_address = workers_address(attempt_.nodes());
  placement.worker_port = port == 0 ? std::nullopt : std::optional(port);
  placement.slots_total = roster_.seated_slots();
  placement.is_decided = true;
  start.orphan_limit_seconds =
      policy_.options.restarts.max_restarts > 0 ? seconds_of(policy_.options.heartbeat_timeout) : 0;
  if (!ports.nodes.empty()) {
    send(attempt_.nodes(), std::move(ports));
  }
  for (std::size_t i = 0; i < attempt_.nodes().size(); ++i) {
    Member& member = *roster_.find(attempt_.nodes()[i]);
    member.node_rank = NodeRank{static_cast<int>(i)};
    member.has_succeeded = false;
    member.has_ended = false;
    placement.node_rank = *member.node_rank;
    placement.slots_here = member.join.node.slots;
    send(attempt_.nodes()[i], start);
    placement.slots_before += placement.slots_here;
  }
}

/// When each agent was started, by our clock: it says itself how long it has waited for us.
void Leader::record_arrivals() {
  const auto started = [&](LinkId link) {
    const Member& member = *roster_.find(link);
    return member.came - std::chrono::duration_cast<Instant::duration>(
                             std::chrono::duration<double>(member.join.waited_seconds));
  };
  Instant first = started(attempt_.nodes().front());
  for (const LinkId link : attempt_.nodes()) {
    first = std::min(first, started(link));
  }
  std::vector<Arrival> arrivals;
  for (std::size_t i = 0; i < attempt_.nodes().size(); ++i) {
    arrivals.push_back({NodeRank{static_cast<int>(i)},
                        roster_.find(attempt_.nodes()[i])->join.node.host,
                        seconds_of(started(attempt_.nodes()[i]) - first)});
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

/// Where the others reached us: an address of our own, whatever name or service led them to it. A job
/// of one node goes by what it was told.
std::string Leader::workers_address(const std::vector<LinkId>& nodes) {
  if (nodes.size() == 1 && policy_.job.most_nodes > 1) {
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
  return address.empty() ? policy_.host : address;
}

/// Where the workers of each node listen; nothing where no node has reserved a port. Who came over
/// loopback is on this machine, which the others reach as they reach us.
Ports Leader::ports_of(const std::vector<LinkId>& nodes) {
  const bool is_any = std::any_of(nodes.begin(), nodes.end(), [&](LinkId link) {
    return !roster_.find(link)->join.ports.empty();
  });
  Ports ports{attempt_.number(), {}};
  if (!is_any) {
    return ports;
  }
  const std::string here = workers_address(nodes);
  for (const LinkId link : nodes) {
    const Member& member = *roster_.find(link);
    const bool is_here = member.peer.empty() || is_loopback(member.peer);
    ports.nodes.push_back(
        {is_here ? here : member.peer, member.join.ports, member.join.node.slots});
  }
  return ports;
}

}  // namespace muster::gang
