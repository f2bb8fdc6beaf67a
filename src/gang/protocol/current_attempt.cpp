// Notes about one attempt.
#include "gang/protocol/current_attempt.hpp"

#include "supervise/first_failure.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {

void CurrentAttempt::begin(std::vector<LinkId> nodes, Instant now) {
  nodes_ = std::move(nodes);
  started_ = now;
  not_ended_ = nodes_.size();
  not_succeeded_ = nodes_.size();
  deciding_roles_.clear();
  first_failure_.reset();
  failures_.clear();
  other_failures_ = {};
  made_progress_.reset();
  reason_.clear();
  is_told_here_ = false;
  is_scaling_up_ = false;
}

void CurrentAttempt::advance() {
  ++number_;
  failures_.clear();
  other_failures_ = {};
}

void CurrentAttempt::note_failure(Failure failure) {
  const auto known = std::find_if(failures_.begin(), failures_.end(), [&](const Failure& other) {
    return other.node == failure.node;
  });
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
    for (Failure& failure : failures_) {
      failure.knows_order = failure.knows_order && failures_.size() == 1;
    }
    const auto first =
        failures_.begin() + static_cast<std::ptrdiff_t>(most_likely_first(failures_));
    first_failure_ = std::move(*first);
    failures_.erase(first);
  }
  OtherFailures others;
  for (Failure& failure : failures_) {
    others.add(std::move(failure));
  }
  failures_.clear();
  others.add(std::exchange(other_failures_, {}));
  other_failures_ = std::move(others);
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

}  // namespace muster::gang
