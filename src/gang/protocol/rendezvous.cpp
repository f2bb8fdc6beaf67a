// Waits for nodes until an attempt can start, or the job ends for lack of them.
#include "gang/protocol/rendezvous.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {
namespace {

constexpr std::size_t kHostsLookedUp = 8;

}  // namespace

void Rendezvous::gather(Instant now) {
  gang_.state = LeaderState::Rendezvous;
  pending_.clear();
  delayed_by_claim_since_.reset();
  waits_for_preflight_ = false;
  timer_.begin(now);
  if (end_for_missing_nodes(now)) {
    return;
  }
  admission_.seat_spares();
  if (!is_enough()) {
    timer_.log_progress_at(now);
  }
  report_progress(now);
  try_start(now);
}

/// True if the job may start with the nodes that have seats. In a job whose size is a number of workers, the seats
/// must have no gap either.
bool Rendezvous::is_enough() const {
  if (gang_.config.job.total_slots) {
    return gang_.roster.seated_slots() == *gang_.config.job.total_slots &&
           gang_.roster.end_of_seated() == gang_.roster.seated();
  }
  return gang_.roster.seated() >= gang_.config.job.least_nodes;
}

bool Rendezvous::is_enough_ready() const {
  if (gang_.config.job.total_slots || gang_.config.job.least_nodes == gang_.config.job.most_nodes) {
    return is_enough() && gang_.roster.is_ready();
  }
  return gang_.roster.seated_ready() >= gang_.config.job.least_nodes && gang_.roster.is_ready(kOwnLink);
}

/// True if a node could still come or is not ready. Absent nodes are awaited before the first attempt only.
bool Rendezvous::awaits_nodes() const {
  const bool is_all = gang_.config.job.total_slots || gang_.roster.seated() == gang_.config.job.most_nodes;
  return !gang_.roster.is_ready() || (!is_all && gang_.attempt.number() == 0);
}

/// True if the seated nodes' values are known not to fit together.
bool Rendezvous::is_pending() const {
  return !pending_.empty() && pending_for_ == gang_.roster.in_order();
}

/// Ends the job while it waits for nodes, if a node's inputs failed for good. Before the first attempt it stays for a
/// while, so that nodes on their way hear the reason.
bool Rendezvous::end_for_missing_nodes(Instant now) {
  if (!has_unable_node_) {
    return false;
  }
  const auto links = gang_.roster.in_order();
  const auto unable = std::find_if(links.begin(), links.end(),
                                   [this](LinkId link) { return gang_.roster.find(link)->cannot_go_on.has_value(); });
  if (unable == links.end()) {
    return false;
  }
  JobEnd end = *gang_.roster.find(*unable)->cannot_go_on;
  if (gang_.attempt.number() > 0 || is_enough() || timer_.is_end_due(now)) {
    goodbye_.conclude(std::move(end), now);
  } else if (!timer_.is_ending()) {
    timer_.note_end(now);
    gang_.say(Level::Error, end.reason + ": ending the job, in at most " + whole_seconds(kTimeToTellWhy) +
                                ", so that nodes that are on their way hear of it");
  }
  return true;
}

void Rendezvous::try_start(Instant now) {
  if (gang_.state != LeaderState::Rendezvous || end_for_missing_nodes(now)) {
    return;
  }
  if (waits_for_port_ || !gang_.roster.holder(0)) {
    return;
  }
  timer_.note_enough(is_enough_ready() && !is_pending(), awaits_nodes(), now);
  const bool has_waited_for_preflight = std::exchange(waits_for_preflight_, false);
  if (!timer_.is_last_call_over(now)) {
    delayed_by_claim_since_.reset();
  } else if (!is_seat_in_doubt(now)) {
    gang_.roster.keep_roles();
    waits_for_preflight_ = preflight_.holds_back(now);
    waits_for_port_ = !waits_for_preflight_;
  }
  if (waits_for_port_) {
    gang_.actions.emplace_back(ReservePort{});
  } else if (has_waited_for_preflight && !waits_for_preflight_) {
    timer_.begin(now);  // a node is missing now, and gets the time that the answers of the others have taken
  }
}

/// True while the holder of a claimed seat may be lost: the job does not start with it. The holder has one heartbeat
/// timeout to send something. Then its claimant gets the seat; new claims do not extend the time.
bool Rendezvous::is_seat_in_doubt(Instant now) {
  constexpr std::chrono::seconds kJustHeard{1};
  delayed_by_claim_since_ = delayed_by_claim_since_.value_or(now);
  if (gang_.roster.is_seat_in_doubt(*delayed_by_claim_since_ - kJustHeard)) {
    return true;
  }
  delayed_by_claim_since_.reset();
  return false;
}

void Rendezvous::place(LinkId link, Instant now) {
  if (admission_.place(link, now)) {
    try_start(now);
  }
}

void Rendezvous::place_claimants(int seat, Instant now) {
  for (const LinkId link : gang_.roster.claimants(seat)) {
    gang_.roster.withdraw_claim(link);
    place(link, now);
  }
}

void Rendezvous::follow_readiness(LinkId link, Instant now) {
  admission_.note_readiness(link);
  if (!gang_.roster.find(link)->seat) {
    if (gang_.state == LeaderState::Rendezvous) {
      admission_.seat_spares();
    }
    admission_.note_newcomers(now);
  }
  try_start(now);
}

bool Rendezvous::holds_back(Instant now) {
  const std::vector<LinkId> nodes = gang_.roster.in_order();
  const bool is_first = pending_.empty();  // later changes are part of the progress messages
  pending_ = gang_.exchange.pending(gang_.exchange_nodes(nodes));
  pending_for_ = nodes;
  timer_.note_pending(!pending_.empty(), now);
  if (!pending_.empty() && is_first) {
    gang_.say(Level::Info, pending_);
    std::vector<LinkId> others = nodes;
    std::erase(others, kOwnLink);
    gang_.send(std::move(others), Waiting{pending_});
  }
  if (!pending_.empty()) {
    timer_.note_enough(false, false, now);
  }
  return !pending_.empty();
}

bool Rendezvous::take_port(const PortReserved& reserved, Instant now) {
  waits_for_port_ = false;
  if (gang_.state != LeaderState::Rendezvous) {
    return false;  // the job was stopped meanwhile
  }
  if (!reserved.error.empty()) {
    goodbye_.conclude(make_end(EndKind::SystemRefused, reserved.error), now);
    return false;
  }
  if (is_enough_ready() && !preflight_.holds_back(now)) {
    return true;
  }
  admission_.seat_spares();  // a node left meanwhile, or came
  try_start(now);
  return false;
}

void Rendezvous::on_tick(Instant now) {
  if (!waits_for_preflight_) {
    report_progress(now);
  }
  try_start(now);
  if (gang_.state == LeaderState::Rendezvous && !waits_for_port_ && !waits_for_preflight_ && !delayed_by_claim_since_) {
    if (is_pending() && timer_.is_pending_in_vain(now)) {
      goodbye_.conclude(make_end(EndKind::Incomplete, "waited " + whole_seconds(gang_.config.options.inputs_timeout) +
                                                          " in vain: " + pending_),
                        now);
    } else if (now >= timer_.deadline()) {
      const std::string reason = describe_waiting("came within " + whole_seconds(gang_.config.options.timeout));
      goodbye_.conclude(
          gang_.attempt.number() == 0 ? make_end(EndKind::Incomplete, reason) : make_end(EndKind::Lost, reason), now);
    }
  }
}

std::optional<Instant> Rendezvous::next_wake() const {
  return waits_for_port_ || waits_for_preflight_ || delayed_by_claim_since_ ? std::nullopt
                                                                            : std::optional(timer_.next_wake());
}

/// "3 of 4 nodes came within 60 s: node 2 never connected". Where workers are counted, the number of nodes is
/// unknown: "5 of 8 workers came within 60 s, on 2 nodes". `how` follows the number, as in "came within 60 s".
std::string Rendezvous::describe_waiting(const std::string& how) const {
  const auto describe_absent = [&](int expected) {
    const std::string missing = gang_.roster.describe_missing(gang_.config.hosts, timer_.unresolved(), expected);
    const std::string unready = gang_.roster.describe_unready();
    std::vector<std::string> all = {missing, unready, pending_};
    std::erase(all, "");
    return join(all, "; ");
  };
  if (!gang_.config.job.total_slots) {
    return std::to_string(gang_.roster.seated()) + " of " + gang_.describe_nodes() + " " + how + ": " +
           describe_absent(gang_.roster.seats());
  }
  const bool is_all = gang_.roster.seated_slots() == *gang_.config.job.total_slots;
  const std::string absent = describe_absent(std::max(gang_.config.job.least_nodes, gang_.roster.end_of_seated()));
  return std::to_string(gang_.roster.seated_slots()) + " of " + gang_.describe_size() + " " + how + ", on " +
         count_of(static_cast<std::size_t>(gang_.roster.seated()), "node") +
         (is_all ? ", and their node ranks have a gap" : "") + (absent.empty() ? "" : ": " + absent);
}

void Rendezvous::resolve_hosts() {
  std::vector<std::string> names;
  for (const int seat : gang_.roster.missing()) {
    const auto index = static_cast<std::size_t>(seat);
    if (index < gang_.config.hosts.size() && gang_.config.hosts[index] && names.size() < kHostsLookedUp) {
      names.push_back(*gang_.config.hosts[index]);
    }
  }
  if (!names.empty()) {
    gang_.actions.emplace_back(LookUpHosts{std::move(names)});
  }
}

void Rendezvous::report_progress(Instant now) {
  if (timer_.take_resolve(now)) {
    resolve_hosts();
  }
  if (!timer_.take_progress(now) || timer_.is_ending()) {
    return;
  }
  const bool is_one = gang_.config.job.total_slots.value_or(gang_.config.job.most_nodes) == 1;
  // A node that waits for something may give up earlier by itself.
  const std::string progress =
      describe_waiting((is_one ? "is here after " : "are here after ") + whole_seconds(now - timer_.since())) +
      "; giving up in " + (gang_.roster.is_ready() && !is_pending() ? "" : "at most ") +
      whole_seconds(timer_.deadline() - now);
  gang_.say(Level::Info, progress);
  std::vector<LinkId> others = gang_.roster.links();
  std::erase(others, kOwnLink);
  gang_.send(std::move(others), Waiting{progress});
}

}  // namespace muster::gang
