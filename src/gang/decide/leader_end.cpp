// How an attempt ends, on every node at once, and what follows: another one, or the end of the job.
#include "durations.hpp"
#include "leader.hpp"

#include <muster/base/text.hpp>

#include <algorithm>
#include <csignal>

namespace muster::gang {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLongestBackoff{60};
/// An attempt that ran so long was no quick failure: the next restart is at once again.
constexpr seconds kSteadyRun{300};
/// Without a progress file, an attempt that ran so long is taken to have got somewhere.
constexpr seconds kQuickFailure{60};
/// Everybody has nothing more to do than to leave; who cannot is not waited for.
constexpr seconds kGoodbye{5};
/// For what is between deciding and doing, on both sides of a fence.
constexpr seconds kFenceMargin{2};
/// For killing, for a console that stalls, and for a machine that is slow.
constexpr seconds kStopMargin{60};
constexpr std::size_t kPastAttempts = 10;

/// The end as it is told with the stop, which is urgent: the worker's words come with the finish.
std::optional<JobEnd> without_texts(std::optional<JobEnd> end) {
  if (end && end->first_failure) {
    end->first_failure->last_lines.clear();
    end->first_failure->error_message.clear();
  }
  return end;
}

}  // namespace

/// Every node is told at once; what follows is decided when nothing is alive any more.
void Leader::end_attempt(JobEnd end, int signal, Instant now, std::string reason) {
  reason_ = reason.empty() ? end.reason : std::move(reason);
  const bool is_by_choice = end.verdict == Verdict::Succeeded || end.verdict == Verdict::Stopped;
  end_without_restart_ = recorded(std::move(end));
  if (is_by_choice || !may_restart(now)) {
    end_ = end_without_restart_;
  }
  early_exit_deadline_.reset();
  stop_deadline_ = now + longest_stop();
  state_ = State::Stopping;
  std::vector<LinkId> alive;
  for (const LinkId link : nodes_) {
    if (roster_.find(link) != nullptr) {
      alive.push_back(link);
    }
  }
  send(std::move(alive), Stop{attempt_, signal, reason_, without_texts(end_)});
  after_an_end(now);
}

/// Until then every node has killed its workers and said so, whatever their consoles do.
milliseconds Leader::longest_stop() {
  double grace = seconds_of(policy_.grace);
  for (const LinkId link : nodes_) {
    const Member* const member = roster_.find(link);
    grace = std::max(grace, member != nullptr ? member->join.grace_seconds : 0);
  }
  return std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(grace)) +
         kStopMargin;
}

void Leader::give_up_stopping(Instant now) {
  stop_deadline_ = now + kStopMargin;
  for (const LinkId link : std::vector<LinkId>(nodes_)) {
    const Member* const member = roster_.find(link);
    if (link != kOwnLink && member != nullptr && !member->has_ended) {
      say(Level::Warning,
          "node " + to_string(*member->node_rank) + ", " + describe(*member) +
              ", does not say that its workers have ended: going on without it");
      lose(link, "did not say that its workers have ended", now);
      actions_.emplace_back(Drop{link});
    }
  }
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
    end_attempt(make_end(EndKind::Lost, reason), SIGTERM, now);
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
    JobEnd end = make_end(EndKind::NoProgress,
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
  end = recorded(std::move(end));
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
  if (is_haunted_) {
    return false;
  }
  const RestartPolicy& policy = policy_.options.restarts;
  const auto counted = std::count_if(restarts_.begin(), restarts_.end(), [&](Instant restart) {
    return !policy.window || now - restart < *policy.window;
  });
  return counted < policy.max_restarts;
}

/// True when the job has a node to put in its place, or may be smaller.
bool Leader::can_go_on_without(LinkId link, Instant now) {
  std::vector<LinkId> others = roster_.spares();
  for (const LinkId seated : roster_.in_order()) {
    if (seated != link && !roster_.find(seated)->leaving_after) {
      others.push_back(seated);
    }
  }
  if (!may_restart(now)) {
    return false;
  }
  if (!policy_.total_slots) {
    return others.size() >= static_cast<std::size_t>(policy_.least_nodes);
  }
  int slots = 0;
  for (const LinkId other : others) {
    slots += roster_.find(other)->join.slots;
  }
  return slots >= *policy_.total_slots;
}

/// With what the leader knows about the whole job.
JobEnd Leader::recorded(JobEnd end) const {
  end.attempt = attempt_;
  end.gang = record_;
  return end;
}

JobEnd Leader::end_of(const Failure& failure) const {
  JobEnd end = end_by_failure(failure);
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
  const milliseconds longest =
      std::max<milliseconds>(kLongestBackoff, policy_.options.restarts.backoff);
  return std::min(wait, longest);
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
    end_attempt(make_end(EndKind::Succeeded, "all workers succeeded"),
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
    end_attempt(make_end(EndKind::Hung,
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
  JobEnd end = end_of(failure);
  end.reason = "rank " + to_string(failure.global_rank) + " ended early: " + since +
               " later others still run";
  end_attempt(std::move(end), SIGTERM, now);
}

}  // namespace muster::gang
