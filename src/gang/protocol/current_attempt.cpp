// Records the leader's knowledge of the current attempt, and of ranks that exit early.
#include "gang/protocol/current_attempt.hpp"

#include "base/lists.hpp"
#include "base/ranks.hpp"
#include "base/text.hpp"
#include "supervise/first_failure.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {

void CurrentAttempt::begin(std::vector<LinkId> nodes, Instant now) {
  nodes_ = std::move(nodes);
  started_ = now;
  not_ended_ = nodes_.size();
  not_succeeded_ = nodes_.size();
  left_first_.clear();
  first_failure_.reset();
  failures_.clear();
  other_failures_ = {};
  erred_.clear();
  have_all_erred_ = true;
  made_progress_.reset();
  reason_.clear();
  is_logged_here_ = false;
  is_scaling_up_ = false;
}

void CurrentAttempt::advance() {
  ++number_;
  failures_.clear();
  other_failures_ = {};
}

void CurrentAttempt::note_success(NodeRank node, const std::string& host, const Succeeded& worker) {
  if (worker.pid > 0) {  // a node without deciding workers sends this with no pid
    left_first_.try_emplace(worker.role, EarlyLeaver{node, host, worker.global_rank, worker.run_time_seconds});
  }
}

std::vector<std::string> CurrentAttempt::deciding_roles() const {
  return mapped(left_first_, [](const auto& leaver) { return leaver.first; });
}

std::optional<EarlyLeaver> CurrentAttempt::left_before(const Failure& failure) const {
  const auto leaver = left_first_.find(failure.role);
  const bool is_rank = failure.service.empty() && !failure.is_unranked;
  if (!is_rank || leaver == left_first_.end() || classify(failure) != FailureKind::LostPeer) {
    return std::nullopt;
  }
  return leaver->second;
}

void CurrentAttempt::note_failure(Failure failure) {
  const auto known = std::ranges::find(failures_, failure.node, &Failure::node);
  if (known == failures_.end()) {
    failures_.push_back(std::move(failure));
  } else {
    *known = std::move(failure);
  }
}

void CurrentAttempt::take_first_failure() {
  if (!failures_.empty()) {
    first_failure_ = failures_.front();
  }
}

void CurrentAttempt::rank_failures() {
  const bool is_by_failure = first_failure_ && !first_failure_->is_early_exit;
  if (is_by_failure && !failures_.empty()) {
    first_failure_ = take_most_likely(failures_);
  }
  OtherFailures others;
  for (Failure& failure : failures_) {
    others.add(std::move(failure));
  }
  failures_.clear();
  others.add(std::exchange(other_failures_, {}));
  other_failures_ = std::move(others);
  if (is_by_failure && !left_before(*first_failure_)) {
    prefer_own_error(*first_failure_, other_failures_);
  }
}

void CurrentAttempt::note_progress(std::optional<bool> made_progress) {
  if (made_progress) {
    made_progress_ = made_progress_.value_or(false) || *made_progress;
  }
}

void CurrentAttempt::note_ending(std::string reason, JobEnd end) {
  reason_ = std::move(reason);
  end_without_restart_ = std::move(end);
}

// The first rank that exited with 0, and how long the others may go on.

void EarlyExit::begin() {
  first_.reset();
  ended_.clear();
  rank_zero_ended_ = false;
  deadline_.reset();
}

void EarlyExit::note_success(NodeRank node, const std::string& host, const Succeeded& worker, Instant now) {
  constexpr std::chrono::seconds kWhenForbidden{10};
  const bool is_worker = worker.pid > 0;  // a node without deciding workers sends this with no pid
  rank_zero_ended_ = rank_zero_ended_ || (is_worker && worker.global_rank.value == 0);
  if (is_worker) {
    ended_.insert(worker.global_rank.value);
  }
  if (first_ || !is_worker) {
    return;
  }
  first_ = FirstSuccess{node, host, worker, now};
  if (timeout_) {
    deadline_ = now + *timeout_;
  } else if (on_early_exit_ == OnEarlyExit::Fail) {
    deadline_ = now + kWhenForbidden;
  }
}

/// Names the ranks of which no success is known: "ranks 0-2 have not ended".
std::string EarlyExit::describe_others() const {
  std::vector<int> others;
  for (int rank = 0; rank < first_->worker.world_size; ++rank) {
    if (!ended_.contains(rank)) {
      others.push_back(rank);
    }
  }
  return others.empty() ? "others still run"
                        : describe_ranks(others) + (others.size() == 1 ? " has" : " have") + " not ended";
}

JobEnd EarlyExit::end_after_deadline(Instant now) const {
  const Succeeded& worker = first_->worker;
  const std::string since = format_seconds(seconds_of(now - first_->at)) + " s";
  if (on_early_exit_ == OnEarlyExit::Wait) {
    return make_end(EndKind::Hung, "rank " + to_string(worker.global_rank) + " ended with exit code 0, " + since +
                                       " ago, and " + describe_others());
  }
  Failure failure;
  failure.node = first_->node;
  failure.host = first_->host;
  failure.role = worker.role;
  failure.global_rank = worker.global_rank;
  failure.local_rank = worker.local_rank;
  failure.pid = worker.pid;
  failure.status = ExitStatus::exited(0);
  failure.exit_code = 1;
  failure.run_time_seconds = worker.run_time_seconds;
  failure.is_early_exit = true;
  failure.start_error = describe_others();
  JobEnd end = end_by_failure(failure);
  end.reason = "rank " + to_string(failure.global_rank) + " ended early: " + since + " later " + failure.start_error;
  return end;
}

}  // namespace muster::gang
