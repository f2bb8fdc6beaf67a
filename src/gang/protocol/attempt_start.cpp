// Starts an attempt: assigns node ranks and the workers' rendezvous address.
#include "gang/protocol/attempt_start.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace muster::gang {
namespace {

constexpr std::size_t kSlowest = 3;

}  // namespace

/// Treats each unready node as a late one. Returns their seats.
std::vector<int> AttemptStart::leave_out_unready(Instant now) {
  std::vector<int> seats;
  for (const LinkId link : gang_.roster.in_order()) {
    if (gang_.roster.is_ready(link)) {
      continue;
    }
    const Member& member = *gang_.roster.find(link);
    const int seat = *member.seat;
    const std::string waiting = "still waits for " + member.waits_for;
    seats.push_back(seat);
    gang_.roster.leave_seat(link, "was left out: it " + waiting);
    if (!gang_.can_start_again()) {
      admission_.refuse(
          link, "the job starts without this node, which " + waiting + ", and it cannot restart (--max-restarts is 0)");
    } else {
      gang_.say(Level::Info,
                "node " + std::to_string(seat) + ", " + describe(member) + ", " + waiting + ": starting without it");
      admission_.keep_or_refuse(link, now);
    }
  }
  return seats;
}

/// Verdict of the previous attempt, or before the first one that of the previous run.
std::string AttemptStart::last_verdict() const {
  if (gang_.record.past_attempts.empty()) {
    return gang_.config.last_verdict;
  }
  return std::string(verdict_name(gang_.record.past_attempts.back().is_loss ? Verdict::Lost : Verdict::Failed));
}

std::vector<NodeFacts> AttemptStart::facts_of_nodes() const {
  std::vector<NodeFacts> nodes(gang_.attempt.nodes().size());
  std::ranges::transform(gang_.attempt.nodes(), nodes.begin(),
                         [this](LinkId link) { return gang_.roster.find(link)->join.node; });
  return nodes;
}

std::vector<NodeName> AttemptStart::names_of_nodes() const {
  std::vector<NodeName> names(gang_.attempt.nodes().size());
  std::ranges::transform(gang_.attempt.nodes(), names.begin(),
                         [this](LinkId link) { return name_of(*gang_.roster.find(link)); });
  return names;
}

/// Logs which nodes take part although they failed as often as --node-failures says, or in an earlier job.
void AttemptStart::name_bad_nodes() {
  NodeFailures& failures = gang_.node_failures;
  const auto nodes = failures.has_barred() || failures.has_listed() ? gang_.attempt.nodes().size() : 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    const NodeRank rank{static_cast<int>(i)};
    const NodeName& name = *failures.node(rank);
    if (std::string text = gang_.describe_listed(rank, name); !text.empty() && said_.insert(text).second) {
      gang_.send(gang_.attempt.nodes(), Announce{std::move(text)});
    }
    if (failures.is_barred(name)) {
      failures.set_left_out(name, false);
      gang_.record.suspects = failures.suspects();
      const bool leads = gang_.attempt.nodes()[i] == kOwnLink;
      gang_.say(Level::Warning, describe_node(rank, name.host) + " takes part again: " +
                                    (leads ? "it leads the job" : "no spare can have its seat"));
    }
  }
}

/// Sends each node its own placement.
void AttemptStart::send_starts(Start start) {
  const std::vector<NodeFacts> nodes = facts_of_nodes();
  std::vector<std::string> names(nodes.size());
  std::ranges::transform(nodes, names.begin(), &NodeFacts::host);
  const auto roles = find_role_slots(nodes);
  const auto hosts = gang_.config.job.are_tasks ? find_host_places(names) : std::vector<HostPlace>();
  Placement& placement = start.placement;
  for (std::size_t i = 0; i < gang_.attempt.nodes().size(); ++i) {
    Member& member = *gang_.roster.find(gang_.attempt.nodes()[i]);
    member.node_rank = NodeRank{static_cast<int>(i)};
    member.has_succeeded = false;
    member.serves_others = false;
    member.has_ended = false;
    placement.node_rank = *member.node_rank;
    placement.slots_here = member.join.node.slots;
    placement.host = hosts.empty() ? HostPlace() : hosts[i];
    placement.role = roles.empty() ? RoleSlots() : roles[i];
    member.ranks = gang_.config.ranks_at ? std::optional(gang_.config.ranks_at(placement)) : std::nullopt;
    gang_.send(gang_.attempt.nodes()[i], start);
    placement.slots_before += placement.slots_here;
  }
}

/// Computes when each agent was started, by the leader's clock: an agent reports how long it has waited.
void AttemptStart::record_arrivals() {
  const auto started = [&](LinkId link) {
    const Member& member = *gang_.roster.find(link);
    return member.came -
           std::chrono::duration_cast<Instant::duration>(std::chrono::duration<double>(member.join.waited_seconds));
  };
  Instant first = started(gang_.attempt.nodes().front());
  for (const LinkId link : gang_.attempt.nodes()) {
    first = std::min(first, started(link));
  }
  std::vector<Arrival> arrivals;
  for (std::size_t i = 0; i < gang_.attempt.nodes().size(); ++i) {
    arrivals.push_back({NodeRank{static_cast<int>(i)}, gang_.roster.find(gang_.attempt.nodes()[i])->join.node.host,
                        seconds_of(started(gang_.attempt.nodes()[i]) - first)});
  }
  const auto shown = std::min(kSlowest, arrivals.size());
  std::partial_sort(arrivals.begin(), arrivals.begin() + static_cast<std::ptrdiff_t>(shown), arrivals.end(),
                    [](const Arrival& a, const Arrival& b) { return a.seconds > b.seconds; });
  arrivals.resize(shown);
  gang_.record.arrival_skew_seconds = arrivals.front().seconds;
  gang_.record.slowest = std::move(arrivals);
}

void AttemptStart::start_attempt(const AttemptPorts& offer, Instant now) {
  const std::vector<LinkId> nodes = gang_.roster.in_order();
  auto merged = gang_.exchange.begin(gang_.attempt.number(), gang_.exchange_nodes(nodes));
  if (!merged) {
    goodbye_.conclude(GangState::end_of(merged.error()), now);
    return;
  }
  gang_.roster.open_free_seats();
  gang_.attempt.begin(nodes, now);
  gang_.node_failures.begin(names_of_nodes());
  name_bad_nodes();
  gang_.early_exit.begin();
  if (gang_.attempt.number() == 0) {
    record_arrivals();
    // A warning alone: a script may choose its devices by itself.
    if (std::string text = describe_shared_devices(facts_of_nodes()); !text.empty()) {
      gang_.send(gang_.attempt.nodes(), Announce{std::move(text)});
    }
    admission_.notify_spares(gang_.roster.spares(), /*does_job_run=*/true);
  }
  gang_.record.nodes = static_cast<int>(gang_.attempt.nodes().size());
  gang_.state = LeaderState::Running;

  Start start;
  Placement& placement = start.placement;
  placement.attempt = gang_.attempt.number();
  placement.restarts = static_cast<int>(gang_.restart_decider.restarts());
  placement.max_restarts = gang_.config.options.restarts.max_restarts;
  placement.nodes = gang_.record.nodes;
  placement.master_address = gang_.workers_address(gang_.attempt.nodes());
  placement.worker_port = offer.worker_port == 0 ? std::nullopt : std::optional(offer.worker_port);
  placement.slots_total = gang_.roster.seated_slots();
  placement.is_decided = true;
  start.orphan_limit_seconds = gang_.can_start_again() ? seconds_of(gang_.config.options.heartbeat_timeout) : 0;
  start.restart_count = gang_.config.earlier_runs + gang_.attempt.number();
  start.last_verdict = last_verdict();
  for (Merged& chunk : *merged) {
    gang_.send(gang_.attempt.nodes(), std::move(chunk));
  }
  send_starts(std::move(start));
}

void AttemptStart::start_with_ready(const AttemptPorts& offer, Instant now) {
  const std::vector<int> seats = leave_out_unready(now);
  if (!seats.empty()) {
    admission_.seat_spares();
  }
  if (!rendezvous_.holds_back(now)) {
    start_attempt(offer, now);
  }
  for (const int seat : seats) {
    rendezvous_.place_claimants(seat, now);
  }
}

}  // namespace muster::gang
