// Notes about one attempt.
#include "current_attempt.hpp"

namespace muster::gang {

void CurrentAttempt::begin(std::vector<LinkId> nodes, Instant now) {
  nodes_ = std::move(nodes);
  started_ = now;
  not_ended_ = nodes_.size();
  not_succeeded_ = nodes_.size();
  deciding_roles_.clear();
  first_failure_.reset();
  made_progress_.reset();
  reason_.clear();
  is_told_here_ = false;
}

void CurrentAttempt::complete_first_failure(const std::optional<Failure>& failure) {
  const bool is_the_first = failure && first_failure_ && !first_failure_->is_early_exit &&
                            failure->node == first_failure_->node &&
                            failure->service == first_failure_->service &&
                            failure->global_rank == first_failure_->global_rank;
  if (is_the_first) {
    first_failure_ = failure;
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

}  // namespace muster::gang
