// Starts an attempt: assigns node ranks and the workers' rendezvous address. Also ends the job after a suspend
// notice.
#include "base/text.hpp"
#include "gang/protocol/leader.hpp"
#include "supervise/supervisor.hpp"

#include <algorithm>
#include <csignal>
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

/// Starts the job without the nodes that are not ready. Ready spares take their seats.
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

/// Treats each unready node as a late one. Returns their seats.
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
    roster_.leave_seat(link, "was left out: it " + waiting);
    if (!can_start_again()) {
      refuse(link,
             "the job starts without this node, which " + waiting + ", and it cannot restart (--max-restarts is 0)");
    } else {
      say(Level::Info,
          "node " + std::to_string(seat) + ", " + describe(member) + ", " + waiting + ": starting without it");
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
    carry_out(merged.error(), now);
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
  placement.max_restarts = config_.options.restarts.max_restarts;
  placement.nodes = record_.nodes;
  placement.master_address = workers_address(attempt_.nodes());
  placement.worker_port = announced_port(offer.worker_port);
  placement.slots_total = roster_.seated_slots();
  placement.is_decided = true;
  start.orphan_limit_seconds = can_start_again() ? seconds_of(config_.options.heartbeat_timeout) : 0;
  start.restart_count = config_.earlier_runs + attempt_.number();
  start.last_verdict = last_verdict();
  for (Merged& chunk : *merged) {
    send(attempt_.nodes(), std::move(chunk));
  }
  send_starts(std::move(start));
}

/// Verdict of the attempt before, or of the run before.
std::string Leader::last_verdict() const {
  if (record_.past_attempts.empty()) {
    return config_.last_verdict;
  }
  return std::string(verdict_name(record_.past_attempts.back().is_loss ? Verdict::Lost : Verdict::Failed));
}

/// Sends each node its own placement.
void Leader::send_starts(Start start) {
  std::vector<std::string> names;
  std::vector<NodeFacts> nodes;
  for (const LinkId link : attempt_.nodes()) {
    nodes.push_back(roster_.find(link)->join.node);
    names.push_back(nodes.back().host);
  }
  const auto roles = find_role_slots(nodes);
  const auto hosts = config_.job.are_tasks ? find_host_places(names) : std::vector<HostPlace>();
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
    member.ranks = config_.ranks_at ? std::optional(config_.ranks_at(placement)) : std::nullopt;
    send(attempt_.nodes()[i], start);
    placement.slots_before += placement.slots_here;
  }
}

/// Computes when each agent was started, by the leader's clock: an agent reports how long it has waited.
void Leader::record_arrivals() {
  const auto started = [&](LinkId link) {
    const Member& member = *roster_.find(link);
    return member.came -
           std::chrono::duration_cast<Instant::duration>(std::chrono::duration<double>(member.join.waited_seconds));
  };
  Instant first = started(attempt_.nodes().front());
  for (const LinkId link : attempt_.nodes()) {
    first = std::min(first, started(link));
  }
  std::vector<Arrival> arrivals;
  for (std::size_t i = 0; i < attempt_.nodes().size(); ++i) {
    arrivals.push_back({NodeRank{static_cast<int>(i)}, roster_.find(attempt_.nodes()[i])->join.node.host,
                        seconds_of(started(attempt_.nodes()[i]) - first)});
  }
  const auto shown = std::min(kSlowest, arrivals.size());
  std::partial_sort(arrivals.begin(), arrivals.begin() + static_cast<std::ptrdiff_t>(shown), arrivals.end(),
                    [](const Arrival& a, const Arrival& b) { return a.seconds > b.seconds; });
  arrivals.resize(shown);
  record_.arrival_skew_seconds = arrivals.front().seconds;
  record_.slowest = std::move(arrivals);
}

/// Returns the leader's own address at which the other nodes reached it, whatever name or service led them to it. A
/// job of one node uses the configured host.
std::string Leader::workers_address(const std::vector<LinkId>& nodes) const {
  if (nodes.size() == 1 && config_.job.most_nodes > 1) {
    return "127.0.0.1";  // the others never came: the configured host may lead nowhere
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
  return address.empty() ? config_.host : address;
}

/// Returns the nodes with their addresses. A node whose job is over may have left, and has none. A peer that came
/// over loopback is on this machine and gets the leader's address.
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

// Suspends the job after a notice: tells all workers, and ends the job when one of them has saved, when all have
// exited, or at the deadline. See docs/control.md.

using std::chrono::milliseconds;

namespace {

std::string after(Instant::duration time) {
  return format_seconds(seconds_of(time)) + " s after the notice";
}

}  // namespace

void Leader::take(LinkId /*link*/, const SuspendRequested& asked, Instant now) {
  if (asked.is_withdrawn) {
    withdraw_notice(now);
    return;
  }
  if (end_ || state_ == State::Finishing) {
    return;  // the job ends already
  }
  const std::string source = asked.source;
  if (state_ == State::Running) {
    note_notice(source, asked.within, now);
  } else if (state_ == State::Stopping) {
    end_ = recorded(suspended_end(source, "the workers were ending"));
    after_an_end(now);
  } else {
    conclude(suspended_end(source, "no worker was running"), now);
  }
}

/// Of several notices the earliest deadline counts, and the first notice gives the name.
void Leader::note_notice(const std::string& source, std::optional<milliseconds> within, Instant now) {
  const Instant deadline =
      now + std::min(within.value_or(config_.options.suspend_timeout), config_.options.suspend_timeout);
  if (notice_ && notice_->deadline <= deadline) {
    return;
  }
  if (notice_) {
    notice_->deadline = deadline;
  } else {
    notice_ = Notice{source, now, deadline};
  }
  early_exit_.cancel_deadline();  // a rank that has saved exits early
  newcomers_call_.cancel();
  send(attempt_.nodes(),
       Suspend{attempt_.number(), {notice_->source, std::chrono::duration_cast<milliseconds>(deadline - now), false}});
}

/// Withdraws the notice. A worker that has failed since then counts as failed.
void Leader::withdraw_notice(Instant now) {
  if (!notice_ || state_ != State::Running) {
    return;
  }
  attempt_.take_first_failure();
  if (const auto& failure = attempt_.first_failure()) {
    notice_.reset();
    end_attempt(end_of(*failure), SIGTERM, now, describe_failure(*failure));
    return;
  }
  const auto& nodes = attempt_.nodes();
  const auto is_gone = [&](LinkId link) {
    const Member* const member = roster_.find(link);
    return member == nullptr || (member->has_ended && !member->has_succeeded);
  };
  if (std::any_of(nodes.begin(), nodes.end(), is_gone)) {
    end_suspended("it was withdrawn when a node had ended already", now);
    return;
  }
  send(attempt_.nodes(), Suspend{attempt_.number(), {notice_->source, {}, /*is_withdrawn=*/true}});
  notice_.reset();
  has_departed_ = false;
}

/// Without a notice the job is suspended at the program's own wish.
void Leader::take(LinkId /*link*/, const WorkSaved& saved, Instant now) {
  if (state_ != State::Running || saved.attempt != attempt_.number()) {
    return;
  }
  if (!notice_) {
    notice_ = Notice{saved.process, now, now};
    end_suspended(saved.process + " saved its work and asked for it", now);
    return;
  }
  end_suspended(saved.process + " saved " + after(now - notice_->asked), now);
}

void Leader::end_suspended(const std::string& what, Instant now) {
  has_departed_ = true;
  end_attempt(suspended_end(notice_->source, what), SIGTERM, now, "suspended: " + what);
}

/// Failures since the notice are judged when all nodes have ended.
void Leader::end_at_deadline(Instant now) {
  const std::string what =
      (has_departed_ ? "not all processes had ended " : "nobody had saved or ended ") + after(now - notice_->asked);
  end_attempt(suspended_end(notice_->source, what), SIGTERM, now, "suspended: " + what);
}

/// All workers of all nodes have exited by themselves.
void Leader::end_after_all_have_ended(Instant now) {
  const std::string what = "all processes had ended " + after(now - notice_->asked);
  end_attempt(suspended_end(notice_->source, what), SIGTERM, now, "suspended: " + what);
}

JobEnd Leader::suspended_end(const std::string& source, const std::string& what) {
  return make_end(EndKind::Suspended, "suspended (" + source + "): " + what);
}

/// True if a failure counts although the job is suspended: no process saved or exited with 0. Otherwise failures are
/// taken as a result of such an exit.
bool Leader::has_failed_instead() const {
  return notice_ && end_ && end_->kind == EndKind::Suspended && !has_departed_;
}

/// Shortens the grace to the notice's deadline, because the platform then kills what is left.
std::optional<milliseconds> Leader::grace_after_notice(Instant now) const {
  if (!notice_) {
    return std::nullopt;
  }
  const auto left = std::chrono::duration_cast<milliseconds>(notice_->deadline - now);
  return std::max(left, milliseconds(0)) + kLastGrace;
}

}  // namespace muster::gang
