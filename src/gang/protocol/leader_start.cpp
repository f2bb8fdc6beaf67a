// How the leader starts an attempt: who is which node, where the workers meet.
#include "gang/protocol/durations.hpp"
#include "gang/protocol/host_places.hpp"
#include "gang/protocol/leader.hpp"
#include "gang/protocol/role_slots.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {
namespace {

constexpr std::size_t kSlowest = 3;

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

std::optional<std::uint16_t> announced_port(std::uint16_t port) {
  return port == 0 ? std::nullopt : std::optional(port);
}

}  // namespace

/// The job starts without those that are not ready. Spares that are take their seats.
void Leader::start_with_ready(const AttemptPorts& offer, Instant now) {
  const std::vector<int> seats = leave_out_unready(now);
  if (!seats.empty()) {
    seat_spares();
  }
  start_attempt(offer, now);
  for (const int seat : seats) {
    place_claimants(seat, now);
  }
}

/// Each is treated as one that comes late. Returns the seats that they had.
std::vector<int> Leader::leave_out_unready(Instant now) {
  std::vector<int> seats;
  for (const LinkId link : roster_.in_order()) {
    if (roster_.is_ready(link)) {
      continue;
    }
    const Member& member = *roster_.find(link);
    const int seat = *member.seat;
    const std::string waiting = "still waits for " + member.waits_for;
    seats.push_back(seat);
    roster_.stand_up(link, "was left out: it " + waiting);
    if (!can_start_again()) {
      refuse(link,
             "the job starts without this node, which " + waiting +
                 ", and it cannot restart (--max-restarts is 0)");
    } else {
      say(Level::Info,
          "node " + std::to_string(seat) + ", " + describe(member) + ", " + waiting +
              ": starting without it");
      keep_or_refuse(link, now);
    }
  }
  return seats;
}

void Leader::start_attempt(const AttemptPorts& offer, Instant now) {
  if (holds_back(now)) {
    rendezvous_timer_.note_enough(false, false, now);
    return;
  }
  const std::vector<LinkId> nodes = roster_.in_order();
  auto merged = exchange_.begin(attempt_.number(), exchange_nodes(nodes));
  if (!merged) {
    give_up_exchange(merged.error(), now);
    return;
  }
  attempt_.begin(nodes, now);
  early_exit_.begin();
  if (attempt_.number() == 0) {
    record_arrivals();
    notify_spares(roster_.spares(), /*does_job_run=*/true);
  }
  record_.nodes = static_cast<int>(attempt_.nodes().size());
  state_ = State::Running;

  Start start;
  Placement& placement = start.placement;
  placement.attempt = attempt_.number();
  placement.restarts = static_cast<int>(restart_decider_.restarts());
  placement.max_restarts = policy_.options.restarts.max_restarts;
  placement.nodes = record_.nodes;
  placement.master_address = workers_address(attempt_.nodes());
  placement.worker_port = announced_port(offer.worker_port);
  placement.store_port = announced_port(offer.store_port);
  placement.slots_total = roster_.seated_slots();
  placement.is_decided = true;
  start.orphan_limit_seconds =
      can_start_again() ? seconds_of(policy_.options.heartbeat_timeout) : 0;
  start.restart_count = policy_.earlier_runs + attempt_.number();
  start.last_verdict = last_verdict();
  for (Merged& chunk : *merged) {
    send(attempt_.nodes(), std::move(chunk));
  }
  send_starts(std::move(start));
}

/// That of the attempt before, else of the run before.
std::string Leader::last_verdict() const {
  if (record_.past_attempts.empty()) {
    return policy_.last_verdict;
  }
  return std::string(
      verdict_name(record_.past_attempts.back().is_loss ? Verdict::Lost : Verdict::Failed));
}

/// Each node is told its own place.
void Leader::send_starts(Start start) {
  std::vector<std::string> names;
  std::vector<NodeFacts> nodes;
  for (const LinkId link : attempt_.nodes()) {
    nodes.push_back(roster_.find(link)->join.node);
    names.push_back(nodes.back().host);
  }
  const auto roles = find_role_slots(nodes);
  const auto hosts = policy_.job.are_tasks ? find_host_places(names) : std::vector<HostPlace>();
  Placement& placement = start.placement;
  for (std::size_t i = 0; i < attempt_.nodes().size(); ++i) {
    Member& member = *roster_.find(attempt_.nodes()[i]);
    member.node_rank = NodeRank{static_cast<int>(i)};
    member.has_succeeded = false;
    member.serves_others = false;
    member.has_ended = false;
    placement.node_rank = *member.node_rank;
    placement.slots_here = member.join.node.slots;
    placement.host = hosts.empty() ? HostPlace() : hosts[i];
    placement.role = roles.empty() ? RoleSlots() : roles[i];
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
std::string Leader::workers_address(const std::vector<LinkId>& nodes) const {
  if (nodes.size() == 1 && policy_.job.most_nodes > 1) {
    return "127.0.0.1";  // the others never came: whatever led them here need not lead anywhere
  }
  std::string address;
  for (const LinkId link : nodes) {
    const Member* const member = roster_.find(link);
    if (member == nullptr) {
      continue;
    }
    if (!member->local.empty() && !is_loopback(member->local)) {
      return member->local;
    }
    address = address.empty() ? member->local : address;
  }
  return address.empty() ? policy_.host : address;
}

/// The nodes with their addresses; a node whose job is over may have left, and has none. Who came over loopback is on this
/// machine, which the others reach as they reach us.
std::vector<ExchangeNode> Leader::exchange_nodes(const std::vector<LinkId>& nodes) const {
  const std::string here = workers_address(nodes);
  std::vector<ExchangeNode> known;
  for (const LinkId link : nodes) {
    const Member* const member = roster_.find(link);
    const std::string peer = member == nullptr ? "" : member->peer;
    const bool is_here = member != nullptr && (peer.empty() || is_loopback(peer));
    known.push_back({link, is_here ? here : peer});
  }
  return known;
}

}  // namespace muster::gang
