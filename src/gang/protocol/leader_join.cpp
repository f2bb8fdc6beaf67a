// Decides which agents may join, assigns their seats, and waits for nodes before an attempt and for new ones during
// it.
#include "base/text.hpp"
#include "gang/protocol/leader.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace muster::gang {
namespace {

/// More than any job has agents: a flood of joins must not fill the memory.
constexpr std::size_t kMostIncarnations = 100'000;
constexpr std::size_t kLeastSpares = 16;
/// More workers than any job has; their count fits an int.
constexpr int kMostSlots = 100'000'000;

}  // namespace

void Leader::handle(const Joined& arrived, Instant now) {
  Member& member = roster_.add(arrived.link, Member{});
  member.join = arrived.join;
  member.peer = arrived.peer;
  member.local = arrived.local;
  member.came = now;
  member.last_heard = now;
  exchange_.add(arrived.link, arrived.join.contributes);
  note_readiness(arrived.link);
  if (const std::string reason = objection(arrived.join); !reason.empty()) {
    refuse(arrived.link, reason);
    return;
  }
  if (state_ == State::Finishing) {  // of the job that follows under the same name
    refuse(arrived.link, "the job has ended, and its leader is leaving", /*may_retry=*/true);
    return;
  }
  if (incarnations_.size() > kMostIncarnations) {
    incarnations_.clear();
  }
  incarnations_.insert(arrived.join.incarnation);
  place(arrived.link, now);
}

/// Returns why an agent may not join; empty: it may.
std::string Leader::objection(const Join& join) const {
  if (join.protocol != kProtocol) {
    return "muster " + join.version + " speaks version " + std::to_string(join.protocol) +
           " of the protocol, the leader version " + std::to_string(kProtocol) + "; all nodes need the same muster";
  }
  if (std::string reason = describe_difference(join.job, config_.job); !reason.empty()) {
    return reason;
  }
  if (incarnations_.contains(join.incarnation)) {
    return "its message has been received before";
  }
  if (join.node.slots > kMostSlots / std::max(1, roster_.seated() + 1)) {
    return "it has " + std::to_string(join.node.slots) + " slots, which no node has";
  }
  if (join.node.rank && join.node.rank->value >= config_.job.most_nodes) {
    return "its node rank is " + to_string(*join.node.rank) + ", and the job has " + describe_nodes();
  }
  return {};
}

/// True if the job would have too many workers with those of this node.
bool Leader::is_too_much(const Join& join) const {
  return config_.job.total_slots && join.node.slots > *config_.job.total_slots - roster_.seated_slots();
}

void Leader::place(LinkId link, Instant now) {
  Member& member = *roster_.find(link);
  const bool may_sit = state_ == State::Rendezvous;
  const bool is_full = config_.job.total_slots == roster_.seated_slots();
  const std::optional<int> wanted = member.join.node.rank ? std::optional(member.join.node.rank->value) : std::nullopt;
  if (wanted && roster_.holder(*wanted) == kOwnLink) {
    refuse(link, "node rank " + std::to_string(*wanted) + " is taken by " + describe(*roster_.find(kOwnLink)) +
                     ", the leader");
  } else if (wanted && roster_.holder(*wanted)) {
    // It may be a node that came back before its loss was noticed. The holder of the seat has until its next
    // heartbeat to show that it is alive.
    roster_.claim(link, *wanted);
  } else if (roster_.others() > config_.most_links) {
    refuse(link,
           "the leader has file descriptors for " + count_of(config_.most_links, "other node") + " only (ulimit -Hn)");
  } else if (may_sit && !is_full && is_too_much(member.join)) {
    refuse(link, "with its " + count_of(static_cast<std::size_t>(member.join.node.slots), "worker") +
                     " there would be " + std::to_string(roster_.seated_slots() + member.join.node.slots) +
                     ", and the job has " + describe_size());
  } else if (const auto seat = wanted ? wanted : roster_.free_seat(); may_sit && seat && !is_full) {
    take_seat(link, *seat);
    try_start(now);
  } else {
    keep_or_refuse(link, now);
  }
}

void Leader::take_seat(LinkId link, int seat) {
  roster_.take_seat(link, seat);
  const Member& member = *roster_.find(link);
  if (link != kOwnLink) {
    say(Level::Debug, "node " + std::to_string(seat) + ", " + describe(member) + ", is here: " +
                          std::to_string(config_.job.total_slots ? roster_.seated_slots() : roster_.seated()) + " of " +
                          describe_size());
  }
  send(link, Admitted{NodeRank{seat}, seconds_of(config_.options.heartbeat_timeout)});
}

/// Handles an agent without a seat in this attempt.
void Leader::keep_or_refuse(LinkId link, Instant now) {
  const Member& member = *roster_.find(link);
  const bool is_full =
      config_.job.total_slots ? config_.job.total_slots == roster_.seated_slots() : !roster_.free_seat();
  if (end_ || !(config_.options.restarts.max_restarts > 0 || (can_scale_up() && !is_full))) {
    refuse(link, is_full ? "all " + describe_size() + " of the job are here already"
                         : "the job runs already, and it cannot restart (--max-restarts is 0)");
    return;
  }
  if (roster_.spares().size() > kLeastSpares + static_cast<std::size_t>(config_.job.most_nodes)) {
    refuse(link, "there are more spares than the job has nodes", /*may_retry=*/true);
    return;
  }
  say(Level::Info, describe(member) + " is a spare: it waits until a node is needed");
  notify_spares({link}, attempt_.number() > 0 || state_ != State::Rendezvous);
  note_newcomers(now);
}

void Leader::notify_spares(std::vector<LinkId> spares, bool does_job_run) {
  send(std::move(spares), Admitted{std::nullopt, seconds_of(config_.options.heartbeat_timeout), does_job_run});
}

void Leader::refuse(LinkId link, std::string reason, bool may_retry) {
  constexpr int kNamed = 10;  // an agent that retries endlessly must not fill the log: the links count it
  if (refusals_ < kNamed) {
    say(Level::Warning, "refused " + describe(*roster_.find(link)) + ": " + reason +
                            (++refusals_ == kNamed ? "; further ones are counted" : ""));
  }
  if (!may_retry) {
    roster_.note_refusal(link, reason);
  }
  send(link, Refused{std::move(reason), may_retry});
  actions_.emplace_back(Drop{link});
  roster_.remove(link);
  (void)exchange_.forget(link);  // it is in no attempt
}

/// The holder of the seat is alive: refuses all claimants.
void Leader::settle_claims(int seat) {
  for (const LinkId link : roster_.claimants(seat)) {
    refuse(link,
           "node rank " + std::to_string(seat) + " is taken by " + describe(*roster_.find(*roster_.holder(seat))));
  }
}

void Leader::place_claimants(int seat, Instant now) {
  for (const LinkId link : roster_.claimants(seat)) {
    roster_.withdraw_claim(link);
    place(link, now);
  }
}

/// Seats the spares on free seats: first on their own rank, then on any. A spare that is not ready gets a seat only
/// if the job needs it.
void Leader::seat_spares() {
  for (const LinkId link : roster_.spares()) {
    const auto wanted = roster_.find(link)->join.node.rank;
    const auto seat = wanted ? std::optional(wanted->value) : roster_.free_seat();
    const bool is_wanted =
        roster_.is_ready(link) || config_.job.total_slots || roster_.seated() < config_.job.least_nodes;
    if (is_wanted && seat && !roster_.holder(*seat) && !is_too_much(roster_.find(link)->join)) {
      take_seat(link, *seat);
    }
  }
}

void Leader::handle(const AuthFailed& stranger, Instant /*now*/) {
  roster_.note_stranger(stranger.peer, stranger.why);
}

void Leader::handle(const LinkLost& lost, Instant now) {
  Member* const member = roster_.find(lost.link);
  if (member == nullptr) {
    return;
  }
  const bool is_in_attempt = !member->has_ended;
  if (is_in_attempt) {
    lose(lost.link, lost.why, now);
  } else {
    release(lost.link, lost.why, now);
  }
  dissolve_if_alone();
}

/// Removes a member. None of its processes of the attempt is alive, or the fence covers them.
void Leader::release(LinkId link, const std::string& why, Instant now) {
  Member& member = *roster_.find(link);
  const auto seat = member.seat;
  const std::string name = describe(member);
  if (seat) {
    roster_.leave_seat(link, "left: " + why);
  }
  if (member.leaving_after) {
    send(link, Finish{recorded(end_by_signal(*member.leaving_after))});
    actions_.emplace_back(Drop{link});
  }
  roster_.remove(link);
  if (seat && state_ == State::Rendezvous) {
    say(Level::Info, "node " + std::to_string(*seat) + ", " + name + ", left: it " + why);
  }
  if (seat) {
    place_claimants(*seat, now);
  }
  if (seat && state_ == State::Rendezvous) {
    seat_spares();
    try_start(now);  // with fewer nodes the last call may no longer run
  }
  note_newcomers(now);
  carry_out(exchange_.forget(link), now);
}

// Waiting for nodes. leader_start.cpp has what follows.

namespace {

constexpr std::size_t kHostsLookedUp = 8;

}  // namespace

void Leader::gather(Instant now) {
  state_ = State::Rendezvous;
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

/// True if the job may start with the seated nodes. Where workers are counted, the node ranks must have no gap
/// either.
bool Leader::is_enough() const {
  if (config_.job.total_slots) {
    return roster_.seated_slots() == *config_.job.total_slots && roster_.end_of_seated() == roster_.seated();
  }
  return roster_.seated() >= config_.job.least_nodes;
}

/// True if the job may start with the ready nodes; the others count as absent. The leader's node must be ready, and
/// where workers are counted every node.
bool Leader::is_enough_ready() const {
  if (config_.job.total_slots || config_.job.least_nodes == config_.job.most_nodes) {
    return is_enough() && roster_.is_ready();
  }
  return roster_.seated_ready() >= config_.job.least_nodes && roster_.is_ready(kOwnLink);
}

/// True if a node could still come or is not ready. Absent nodes are awaited before the first attempt only.
bool Leader::awaits_nodes() const {
  const bool is_all = config_.job.total_slots || roster_.seated() == config_.job.most_nodes;
  return !roster_.is_ready() || (!is_all && attempt_.number() == 0);
}

/// True if the seated nodes' values are known not to fit together.
bool Leader::is_pending() const {
  return !pending_.empty() && pending_for_ == roster_.in_order();
}

/// Ends the job while it waits for nodes, if a node's inputs failed for good. Before the first attempt it stays for a
/// while, so that nodes on their way hear the reason.
bool Leader::end_for_missing_nodes(Instant now) {
  const auto links = roster_.in_order();
  const auto unable = std::find_if(links.begin(), links.end(),
                                   [this](LinkId link) { return roster_.find(link)->cannot_go_on.has_value(); });
  if (unable == links.end()) {
    return false;
  }
  JobEnd end = *roster_.find(*unable)->cannot_go_on;
  if (attempt_.number() > 0 || is_enough() || rendezvous_timer_.is_end_due(now)) {
    conclude(std::move(end), now);
  } else if (!rendezvous_timer_.is_ending()) {
    rendezvous_timer_.note_end(now);
    say(Level::Error, end.reason + ": ending the job, in at most " + whole_seconds(kTimeToTellWhy) +
                          ", so that nodes that are on their way hear of it");
  }
  return true;
}

void Leader::try_start(Instant now) {
  if (state_ != State::Rendezvous || end_for_missing_nodes(now)) {
    return;
  }
  if (waits_for_port_ || !roster_.holder(0)) {
    return;
  }
  rendezvous_timer_.note_enough(is_enough_ready() && !is_pending(), awaits_nodes(), now);
  if (!rendezvous_timer_.is_last_call_over(now)) {
    start_due_.reset();
  } else if (!is_seat_in_doubt(now)) {
    waits_for_port_ = true;
    actions_.emplace_back(ReservePort{});
  }
}

/// True while the holder of a claimed seat may be lost: the job does not start with it. The holder has a heartbeat
/// timeout to send something, then the claimant gets the seat; new claims do not extend the time.
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
  const bool is_range = config_.job.least_nodes != config_.job.most_nodes;
  return (is_range ? std::to_string(config_.job.least_nodes) + " to " : std::string()) +
         count_of(static_cast<std::size_t>(config_.job.most_nodes), "node");
}

/// Size of the job: "4 nodes", "2 to 4 nodes", "8 workers".
std::string Leader::describe_size() const {
  return config_.job.total_slots ? count_of(static_cast<std::size_t>(*config_.job.total_slots), "worker")
                                 : describe_nodes();
}

/// "3 of 4 nodes came within 60 s: node 2 never connected". Where workers are counted, the number of nodes is
/// unknown: "5 of 8 workers came within 60 s, on 2 nodes". `how` follows the number, as in "came within 60 s".
std::string Leader::describe_waiting(const std::string& how) const {
  const auto describe_absent = [&](int expected) {
    const std::string missing = roster_.describe_missing(config_.hosts, rendezvous_timer_.unresolved(), expected);
    const std::string unready = roster_.describe_unready();
    std::vector<std::string> all = {missing, unready, pending_};
    std::erase(all, "");
    return join(all, "; ");
  };
  if (!config_.job.total_slots) {
    return std::to_string(roster_.seated()) + " of " + describe_nodes() + " " + how + ": " +
           describe_absent(roster_.seats());
  }
  const bool is_all = roster_.seated_slots() == *config_.job.total_slots;
  const std::string absent = describe_absent(std::max(config_.job.least_nodes, roster_.end_of_seated()));
  return std::to_string(roster_.seated_slots()) + " of " + describe_size() + " " + how + ", on " +
         count_of(static_cast<std::size_t>(roster_.seated()), "node") +
         (is_all ? ", and their node ranks have a gap" : "") + (absent.empty() ? "" : ": " + absent);
}

void Leader::resolve_hosts() {
  std::vector<std::string> names;
  for (const int seat : roster_.missing()) {
    const auto index = static_cast<std::size_t>(seat);
    if (index < config_.hosts.size() && config_.hosts[index] && names.size() < kHostsLookedUp) {
      names.push_back(*config_.hosts[index]);
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
  const bool is_one = config_.job.total_slots.value_or(config_.job.most_nodes) == 1;
  // A node that waits for something may give up earlier by itself.
  const std::string progress = describe_waiting((is_one ? "is here after " : "are here after ") +
                                                whole_seconds(now - rendezvous_timer_.since())) +
                               "; giving up in " + (roster_.is_ready() && !is_pending() ? "" : "at most ") +
                               whole_seconds(rendezvous_timer_.deadline() - now);
  say(Level::Info, progress);
  std::vector<LinkId> others = roster_.links();
  std::erase(others, kOwnLink);
  send(std::move(others), Waiting{progress});
}

void Leader::check_deadlines(Instant now) {
  if (is_pending() && rendezvous_timer_.is_pending_in_vain(now)) {
    conclude(make_end(EndKind::Incomplete,
                      "waited " + whole_seconds(config_.options.inputs_timeout) + " in vain: " + pending_),
             now);
  } else if (now >= rendezvous_timer_.deadline()) {
    give_up_gathering(now);
  }
}

void Leader::give_up_gathering(Instant now) {
  const std::string reason = describe_waiting("came within " + whole_seconds(config_.options.timeout));
  conclude(attempt_.number() == 0 ? make_end(EndKind::Incomplete, reason) : make_end(EndKind::Lost, reason), now);
}

// Nodes that arrive while an attempt runs: whether and when the job restarts for them.

/// True if the job restarts for new nodes. Not after a rank has exited with 0, because its work would be done twice,
/// and not where workers are counted, which leaves no room for more.
bool Leader::can_scale_up() const {
  return config_.options.scale_up == ScaleUp::Now && config_.job.least_nodes < config_.job.most_nodes &&
         !config_.job.total_slots && !early_exit_.has_any_ended();
}

/// True if another attempt may follow.
bool Leader::can_start_again() const {
  return config_.options.restarts.max_restarts > 0 || can_scale_up();
}

/// Returns the spares that would get a seat if the job restarted now.
std::vector<LinkId> Leader::newcomers() const {
  std::vector<LinkId> found;
  std::set<int> wanted;
  const auto room = static_cast<std::size_t>(roster_.seats() - roster_.seated());
  for (const LinkId link : roster_.spares()) {
    const auto& rank = roster_.find(link)->join.node.rank;
    const bool has_seat = !rank || (!roster_.holder(rank->value) && wanted.insert(rank->value).second);
    if (roster_.is_ready(link) && has_seat && found.size() < room) {
      found.push_back(link);
    }
  }
  return found;
}

/// Several new nodes cause one restart: the first ones wait for a last call, unless the job is then complete.
void Leader::note_newcomers(Instant now) {
  if (state_ != State::Running || !can_scale_up()) {
    newcomers_call_.cancel();
    return;
  }
  const auto count = static_cast<int>(newcomers().size());
  newcomers_call_.note(count > 0, roster_.seated() + count < roster_.seats(), now);
}

/// Ends the workers as after a failure, although nothing has failed.
void Leader::scale_up(Instant now) {
  const std::vector<LinkId> joining = newcomers();
  const std::string reason = joining.size() == 1 ? describe(*roster_.find(joining.front())) + " joins the job"
                                                 : count_of(joining.size(), "node") + " join the job";
  attempt_.note_ending(reason, recorded(make_end(EndKind::SystemRefused, reason + ", and it cannot start again")));
  attempt_.note_scaling_up();
  stop_nodes(SIGTERM, now);
}

}  // namespace muster::gang
