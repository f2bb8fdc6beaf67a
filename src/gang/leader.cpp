// The leader's decisions about the job: when it starts, stops, starts again, and how it ends. Who
// belongs to it is in roster.cpp and leader_admission.cpp. See the header for the picture.
#include <muster/base/text.hpp>
#include <muster/gang/leader.hpp>

#include <algorithm>
#include <csignal>

namespace muster::gang {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kFirstProgress{5};
constexpr seconds kProgressInterval{30};
constexpr seconds kLongestBackoff{60};
/// An attempt that ran so long was no quick failure: the next restart is at once again.
constexpr seconds kSteadyRun{300};
/// Without a progress file, an attempt that ran so long is taken to have got somewhere.
constexpr seconds kQuickFailure{60};
/// Everybody has nothing more to do than to leave; who cannot is not waited for.
constexpr seconds kGoodbye{5};
/// For what is between deciding and doing, on both sides of a fence.
constexpr seconds kFenceMargin{2};
/// Names are looked up so long before the deadline, so that the answer is there in time.
constexpr seconds kLookUpAhead{3};
constexpr std::size_t kPastAttempts = 10;
constexpr std::size_t kSlowest = 3;
constexpr std::size_t kHostsLookedUp = 8;

double seconds_of(Instant::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string whole_seconds(Instant::duration duration) {
  return std::to_string(std::chrono::duration_cast<seconds>(duration).count()) + " s";
}

/// "rank 3 on node 1 (host-b) failed (exit code 9)".
std::string describe(const Failure& failure) {
  const std::string rank = "rank " + to_string(failure.global_rank) + " on node " +
                           to_string(failure.node) + " (" + failure.host + ")";
  return failure.status ? rank + " failed (" + failure.status->describe() + ")"
                        : rank + " could not be started";
}

}  // namespace

Leader::Leader(Policy policy, Instant now)
    : policy_(std::move(policy)),
      roster_(policy_.most_nodes),
      gathering_since_(now),
      gathering_deadline_(now + policy_.options.timeout),
      next_progress_(now + kFirstProgress),
      next_look_(now + look_interval()),
      rest_until_(now),
      fence_until_(now) {}

LeaderActions Leader::on(const LeaderEvent& event, Instant now) {
  if (state_ != State::Finished) {
    std::visit([&](const auto& happened) { handle(happened, now); }, event);
  }
  return std::exchange(actions_, {});
}

std::optional<Instant> Leader::next_wake() const {
  std::optional<Instant> wake;
  const auto at = [&](Instant moment) { wake = wake ? std::min(*wake, moment) : moment; };
  if (roster_.has_others() && state_ != State::Finished) {
    at(next_look_);
  }
  switch (state_) {
    case State::Gathering:
      if (waits_for_port_) {
        break;
      }
      at(std::min(gathering_deadline_, next_progress_));
      if (last_call_) {
        at(*last_call_);
      }
      if (!looked_up_hosts_) {
        at(gathering_deadline_ - kLookUpAhead);
      }
      break;
    case State::Running:
      if (early_exit_deadline_) {
        at(*early_exit_deadline_);
      }
      break;
    case State::Resting:
      at(rest_until_);
      break;
    case State::Finishing:
      at(goodbye_deadline_);
      break;
    case State::Stopping:
    case State::Finished:
      break;
  }
  return wake;
}

// --- What happens -------------------------------------------------------------------------------

void Leader::handle(const Received& received, Instant now) {
  Member* const member = roster_.find(received.link);
  if (member == nullptr) {
    return;  // it was dropped, and this was still on its way
  }
  member->last_heard = now;
  if (member->seat) {
    settle_claims(*member->seat);
  }
  std::visit([&](const auto& message) { take(received.link, message, now); }, received.message);
}

void Leader::handle(const PortReserved& reserved, Instant now) {
  waits_for_port_ = false;
  if (state_ != State::Gathering) {
    return;  // the job was stopped meanwhile
  }
  if (!reserved.error.empty()) {
    conclude(make_end(Verdict::Failed, kExitSystem, reserved.error), now);
  } else if (is_complete(now)) {
    start_attempt(reserved.port, now);
  } else {  // somebody left meanwhile
    seat_spares();
    try_start(now);
  }
}

void Leader::handle(const HostsLookedUp& found, Instant /*now*/) {
  unresolved_hosts_ = found.unresolved;
}

void Leader::handle(const Tick& /*tick*/, Instant now) {
  if (roster_.has_others() && now >= next_look_) {
    look_for_silence(now);
  }
  if (state_ == State::Gathering) {
    report_progress(now);
    try_start(now);
  }
  if (state_ == State::Gathering && !waits_for_port_ && now >= gathering_deadline_) {
    give_up_gathering(now);
  }
  if (state_ == State::Running && early_exit_deadline_ && now >= *early_exit_deadline_) {
    end_by_early_exit(now);
  }
  if (state_ == State::Resting && now >= rest_until_) {
    gather(now);
  }
  if (state_ == State::Finishing && now >= goodbye_deadline_) {
    for (const LinkId link : roster_.links()) {
      actions_.emplace_back(Drop{link});
      roster_.remove(link);
    }
    dissolve_if_alone();
  }
}

void Leader::take(LinkId link, const Beat& /*beat*/, Instant /*now*/) {
  send(link, Beat{});
}

void Leader::take(LinkId link, const Failed& failed, Instant now) {
  const Member& member = *roster_.find(link);
  if (state_ != State::Running || failed.attempt != attempt_ || !member.node_rank) {
    return;  // an echo of what is being ended already, or of an older attempt
  }
  first_failure_ = failed.failure;
  end_attempt(end_by_failure(failed.failure), SIGTERM, now, describe(failed.failure));
}

void Leader::take(LinkId link, const Succeeded& succeeded, Instant now) {
  if (state_ == State::Running && succeeded.attempt == attempt_ &&
      roster_.find(link)->node_rank.has_value()) {
    note_success(link, succeeded, now);
  }
}

void Leader::take(LinkId link, const Ended& ended, Instant now) {
  Member& member = *roster_.find(link);
  if (ended.attempt != attempt_ || member.has_ended) {
    return;
  }
  member.has_ended = true;
  --not_ended_;
  const bool is_the_first = ended.failure && first_failure_ && !first_failure_->is_early_exit &&
                            ended.failure->global_rank == first_failure_->global_rank;
  if (is_the_first) {
    first_failure_ = ended.failure;  // with the last lines that were still on their way
  }
  if (ended.made_progress) {
    made_progress_ = made_progress_.value_or(false) || *ended.made_progress;
  }
  if (member.leaving_after) {
    let_go(link, "was stopped by " + signal_name(*member.leaving_after), now);
  }
  after_an_end(now);
}

void Leader::take(LinkId link, const StopAsked& asked, Instant now) {
  if (asked.is_urgent && !roster_.find(link)->leaving_after) {
    hurry(asked.signal, now);
    return;
  }
  if (end_ || state_ == State::Finishing) {
    return;
  }
  Member& member = *roster_.find(link);
  if (link != kOwnLink && !member.seat) {
    return;  // a spare that leaves: its link will be gone
  }
  if (link != kOwnLink && state_ == State::Gathering && attempt_ == 0) {
    roster_.stand_up(link, "was stopped by " + signal_name(asked.signal));
    member.leaving_after = asked.signal;
    return;  // it is gone before anything began: another one may come in its place
  }
  if (link != kOwnLink && can_go_on_without(link, now)) {
    go_on_without(link, asked.signal, now);
    return;
  }
  if (state_ == State::Running) {
    end_attempt(end_by_signal(asked.signal), asked.signal, now);
  } else if (state_ == State::Stopping) {
    end_ = end_by_signal(asked.signal);  // no other attempt; the workers are ending already
    after_an_end(now);
  } else {
    conclude(end_by_signal(asked.signal), now);
  }
}

/// Somebody asked twice: no node waits for its grace.
void Leader::hurry(int signal, Instant now) {
  if (state_ == State::Running) {
    end_attempt(end_by_signal(signal), signal, now);
  }
  if (state_ != State::Stopping) {
    return;
  }
  if (!end_) {
    end_ = end_by_signal(signal);
  }
  std::vector<LinkId> alive;
  for (const LinkId link : nodes_) {
    const Member* const member = roster_.find(link);
    if (member != nullptr && !member->has_ended) {
      alive.push_back(link);
    }
  }
  send(std::move(alive), Stop{attempt_, signal, reason_, end_, /*is_urgent=*/true});
}

/// One node is taken away, such as by a drain, and the job has another or may be smaller.
void Leader::go_on_without(LinkId link, int signal, Instant now) {
  Member& member = *roster_.find(link);
  const std::string reason = "node " + std::to_string(*member.seat) + ", " + describe(member) +
                             ", leaves after " + signal_name(signal);
  say(Level::Warning, reason + ": going on without it");
  member.leaving_after = signal;
  const bool is_missed = state_ == State::Running && !member.has_succeeded;
  if (member.has_ended) {
    let_go(link, "was stopped by " + signal_name(signal), now);
  }
  if (is_missed) {
    end_attempt(make_end(Verdict::Lost, kExitLost, reason), SIGTERM, now);
  }
}

template <typename Other>
void Leader::take(LinkId link, const Other& unexpected, Instant now) {
  const std::string name = name_of(Message(unexpected));
  handle(LinkLost{link, "sent the message '" + name + "', which no agent sends here"}, now);
  actions_.emplace_back(Drop{link});
}

// --- Gathering ----------------------------------------------------------------------------------

void Leader::gather(Instant now) {
  state_ = State::Gathering;
  gathering_since_ = now;
  gathering_deadline_ = now + policy_.options.timeout;
  next_progress_ = now + kFirstProgress;
  looked_up_hosts_ = false;
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

void Leader::report_progress(Instant now) {
  if (!looked_up_hosts_ && now >= gathering_deadline_ - kLookUpAhead) {
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

// --- The end of an attempt ----------------------------------------------------------------------

/// Every node is told at once; what follows is decided when nothing is alive any more.
void Leader::end_attempt(JobEnd end, int signal, Instant now, std::string reason) {
  reason_ = reason.empty() ? end.reason : std::move(reason);
  const bool is_by_choice = end.verdict == Verdict::Succeeded || end.verdict == Verdict::Stopped;
  if (is_by_choice || !may_restart(now)) {
    end_ = std::move(end);
  }
  early_exit_deadline_.reset();
  state_ = State::Stopping;
  std::vector<LinkId> alive;
  for (const LinkId link : nodes_) {
    if (roster_.find(link) != nullptr) {
      alive.push_back(link);
    }
  }
  send(std::move(alive), Stop{attempt_, signal, reason_, end_});
  after_an_end(now);
}

/// A node of this attempt is gone, and what it ran may still be alive somewhere.
void Leader::lose(LinkId link, const std::string& why, Instant now) {
  Member& member = *roster_.find(link);
  const std::string reason =
      "node " + to_string(*member.node_rank) + ", " + describe(member) + ", was lost: it " + why;
  fence_until_ = std::max(fence_until_, member.last_heard + fence());
  member.has_ended = true;
  --not_ended_;
  const bool is_missed = state_ == State::Running && !member.has_succeeded;
  let_go(link, why, now);
  if (is_missed) {
    say(Level::Error, reason);
    end_attempt(make_end(Verdict::Lost, kExitLost, reason), SIGTERM, now);
  } else {
    after_an_end(now);
  }
}

void Leader::after_an_end(Instant now) {
  if (state_ != State::Stopping || not_ended_ > 0) {
    return;
  }
  if (end_) {
    conclude(*end_, now);
  } else {
    rest(now);
  }
}

/// Nothing of the attempt is left: the next one begins after the back-off, and not before the last
/// worker of a lost node must be gone.
void Leader::rest(Instant now) {
  judge_progress(now);
  const int limit = policy_.options.restarts.no_progress_limit;
  if (limit > 0 && without_progress_ >= limit) {
    JobEnd end = make_end(Verdict::Failed,
                          kExitNoProgress,
                          "no progress over " + std::to_string(without_progress_) +
                              " attempts, the last time: " + reason_);
    end.first_failure = first_failure_;
    conclude(std::move(end), now);
    return;
  }
  record_.past_attempts.push_back({attempt_, reason_});
  if (record_.past_attempts.size() > kPastAttempts) {
    record_.past_attempts.erase(record_.past_attempts.begin());
  }
  restarts_in_a_row_ = now - attempt_started_ >= kSteadyRun ? 1 : restarts_in_a_row_ + 1;
  restarts_.push_back(now);
  ++attempt_;
  state_ = State::Resting;
  rest_until_ = std::max(now + backoff(), fence_until_);
  const bool waits_for_fence = fence_until_ > now + backoff();
  say(Level::Warning,
      reason_ + ": starting attempt " + std::to_string(attempt_) + " (restart " +
          std::to_string(restarts_.size()) + " of " +
          std::to_string(policy_.options.restarts.max_restarts) + ")" +
          (rest_until_ > now ? " in " + format_seconds(seconds_of(rest_until_ - now)) + " s"
                             : std::string()) +
          (waits_for_fence ? ", when nothing of the lost node can be alive" : ""));
  if (now >= rest_until_) {
    gather(now);
  }
}

void Leader::conclude(JobEnd end, Instant now) {
  if (end.first_failure && first_failure_) {
    end.first_failure = first_failure_;  // with its last lines
  }
  end.attempt = attempt_;
  end.gang = record_;
  end_ = end;
  state_ = State::Finishing;
  goodbye_deadline_ = now + kGoodbye;
  send(roster_.links(), Finish{std::move(end)});
  dissolve_if_alone();
}

void Leader::dissolve_if_alone() {
  if (state_ == State::Finishing && !roster_.has_others()) {
    state_ = State::Finished;
    actions_.emplace_back(Dissolve{});
  }
}

/// Counts the attempts in a row that got nowhere.
void Leader::judge_progress(Instant now) {
  std::string signature;
  if (first_failure_) {
    signature =
        to_string(first_failure_->global_rank) + ": " +
        (first_failure_->status ? first_failure_->status->describe() : first_failure_->start_error);
  }
  const bool is_quick = now - attempt_started_ < kQuickFailure;
  const bool is_the_same = !signature.empty() && signature == last_signature_;
  if (made_progress_) {
    without_progress_ = *made_progress_ ? 0 : without_progress_ + 1;
  } else if (signature.empty() || !is_quick) {
    without_progress_ = 0;
  } else {
    without_progress_ = is_the_same ? without_progress_ + 1 : 1;
  }
  last_signature_ = signature;
}

bool Leader::may_restart(Instant now) const {
  const RestartPolicy& policy = policy_.options.restarts;
  const auto counted = std::count_if(restarts_.begin(), restarts_.end(), [&](Instant restart) {
    return !policy.window || now - restart < *policy.window;
  });
  return counted < policy.max_restarts;
}

/// True when the job has a node to put in its place, or may be smaller.
bool Leader::can_go_on_without(LinkId link, Instant now) {
  const Member* const member = roster_.find(link);
  const auto others =
      static_cast<std::size_t>(roster_.seated() - (member->seat ? 1 : 0)) + roster_.spares().size();
  return may_restart(now) && others >= static_cast<std::size_t>(policy_.least_nodes);
}

JobEnd Leader::make_end(Verdict verdict, int exit_code, std::string reason) const {
  JobEnd end;
  end.verdict = verdict;
  end.exit_code = exit_code;
  end.attempt = attempt_;
  end.reason = std::move(reason);
  end.gang = record_;
  return end;
}

JobEnd Leader::end_by_signal(int signal) const {
  constexpr int kSignalBase = 128;
  JobEnd end =
      make_end(Verdict::Stopped, kSignalBase + signal, "stopped by " + signal_name(signal));
  end.stop_signal = signal;
  return end;
}

JobEnd Leader::end_by_failure(const Failure& failure) const {
  JobEnd end = make_end(Verdict::Failed,
                        failure.exit_code,
                        failure.start_error.empty() ? "worker failed" : "worker not started");
  end.first_failure = failure;
  end.rank_zero_had_ended = rank_zero_ended_ && failure.global_rank.value != 0;
  return end;
}

/// An agent notices within the heartbeat timeout that the leader is lost, and its workers have one
/// more to end. It counts from the last beat that was answered, so never from later than we do.
milliseconds Leader::fence() const {
  return 2 * policy_.options.heartbeat_timeout + kFenceMargin;
}

milliseconds Leader::backoff() const {
  if (restarts_in_a_row_ <= 1) {
    return milliseconds(0);
  }
  milliseconds wait = policy_.options.restarts.backoff;
  for (int i = 2; i < restarts_in_a_row_ && wait < kLongestBackoff; ++i) {
    wait *= 2;
  }
  return std::min<milliseconds>(wait, kLongestBackoff);
}

// --- A rank that ends early ---------------------------------------------------------------------

void Leader::note_success(LinkId link, const Succeeded& succeeded, Instant now) {
  rank_zero_ended_ = rank_zero_ended_ || (succeeded.pid > 0 && succeeded.global_rank.value == 0);
  Member& member = *roster_.find(link);
  const bool is_the_first = !first_success_ && succeeded.pid > 0;
  if (is_the_first) {
    first_success_ = FirstSuccess{*member.node_rank, member.join.host, succeeded, now};
  }
  if (succeeded.is_last && !member.has_succeeded) {
    member.has_succeeded = true;
    --not_succeeded_;
  }
  if (not_succeeded_ == 0) {
    end_attempt(make_end(Verdict::Succeeded, 0, "all workers succeeded"),
                SIGTERM,
                now,
                "the workers that decide have ended");
    return;
  }
  constexpr seconds kWhenForbidden{10};
  const GangOptions& options = policy_.options;
  if (is_the_first && options.early_exit_timeout) {
    early_exit_deadline_ = now + *options.early_exit_timeout;
  } else if (is_the_first && options.on_early_exit == OnEarlyExit::Fail) {
    early_exit_deadline_ = now + kWhenForbidden;
  }
}

void Leader::end_by_early_exit(Instant now) {
  const FirstSuccess& first = *first_success_;
  const std::string since = format_seconds(seconds_of(now - first.at)) + " s";
  if (policy_.options.on_early_exit == OnEarlyExit::Wait) {
    end_attempt(make_end(Verdict::Hung,
                         kExitHung,
                         "rank " + to_string(first.worker.global_rank) + " ended with 0 " + since +
                             " ago, and others still run"),
                SIGTERM,
                now);
    return;
  }
  Failure failure;
  failure.node = first.node;
  failure.host = first.host;
  failure.role = first.worker.role;
  failure.global_rank = first.worker.global_rank;
  failure.local_rank = first.worker.local_rank;
  failure.pid = first.worker.pid;
  failure.status = ExitStatus::exited(0);
  failure.exit_code = 1;
  failure.run_time_seconds = first.worker.run_time_seconds;
  failure.is_early_exit = true;
  first_failure_ = failure;
  JobEnd end = end_by_failure(failure);
  end.reason = "rank " + to_string(failure.global_rank) + " ended early: " + since +
               " later others still run";
  end_attempt(std::move(end), SIGTERM, now);
}

// --- Time ---------------------------------------------------------------------------------------

milliseconds Leader::look_interval() const {
  return std::min<milliseconds>(policy_.options.heartbeat_timeout / 8, seconds(1));
}

void Leader::look_for_silence(Instant now) {
  // We may have been stopped ourselves: what the others said meanwhile is still to be read.
  const Instant::duration asleep = now - next_look_;
  const bool was_asleep = asleep > look_interval();
  next_look_ = now + look_interval();
  std::vector<LinkId> silent;
  for (auto& [link, member] : roster_.members()) {
    if (was_asleep) {
      member.last_heard = std::min(member.last_heard + asleep, now);
    }
    if (link != kOwnLink && now - member.last_heard > policy_.options.heartbeat_timeout) {
      silent.push_back(link);
    }
  }
  for (const LinkId link : silent) {
    if (roster_.find(link) != nullptr) {
      const std::string why = "was silent for " + whole_seconds(policy_.options.heartbeat_timeout);
      handle(LinkLost{link, why}, now);
      actions_.emplace_back(Drop{link});
    }
  }
}

void Leader::send(LinkId link, Message message) {
  actions_.emplace_back(SendTo{{link}, std::move(message)});
}

void Leader::send(std::vector<LinkId> links, Message message) {
  if (!links.empty()) {
    actions_.emplace_back(SendTo{std::move(links), std::move(message)});
  }
}

void Leader::say(Level level, std::string text) {
  actions_.emplace_back(Say{level, std::move(text)});
}

}  // namespace muster::gang
