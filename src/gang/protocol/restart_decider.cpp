// Counts restarts and attempts without progress, and grows the pauses.
#include "gang/protocol/restart_decider.hpp"

namespace muster::gang {
namespace {

/// Length from which an attempt was no quick failure: the next restart is immediate. It is immediate, too, if no
/// worker failed, but a node has left or was lost.
constexpr std::chrono::seconds kSteadyRun{300};
/// Length from which an attempt without a progress file counts as progress.
constexpr std::chrono::seconds kQuickFailure{60};

/// Identifies a failure by rank and status: equal signatures are one failure.
std::string signature_of(const std::optional<Failure>& failure) {
  if (!failure) {
    return {};
  }
  return name_of_failed(*failure) + ": " + (failure->status ? failure->status->describe() : failure->start_error);
}

/// Returns the status and the last line of a failure; empty: it has no output.
std::string words_of(const std::optional<Failure>& failure) {
  if (!failure || (failure->last_lines.empty() && failure->start_error.empty())) {
    return {};
  }
  return failure->last_lines.empty() ? failure->start_error
                                     : describe_status(*failure) + ": " + failure->last_lines.back();
}

}  // namespace

void RestartDecider::judge(const std::optional<Failure>& first_failure, std::optional<bool> made_progress,
                           Instant::duration ran) {
  const std::string signature = signature_of(first_failure);
  const bool is_the_same = !signature.empty() && signature == last_signature_;
  if (made_progress) {
    without_progress_ = *made_progress ? 0 : without_progress_ + 1;
  } else if (signature.empty() || ran >= kQuickFailure) {
    without_progress_ = 0;
  } else {
    without_progress_ = is_the_same ? without_progress_ + 1 : 1;
  }
  last_signature_ = signature;
  const std::string words = ran < kQuickFailure ? words_of(first_failure) : std::string();
  alike_ = words.empty() ? 0 : words == last_failure_ ? alike_ + 1 : 1;
  last_failure_ = words;
}

bool RestartDecider::is_hopeless() const {
  return policy_.no_progress_limit > 0 && without_progress_ >= policy_.no_progress_limit;
}

bool RestartDecider::may_restart(Instant now) const {
  const auto counted = std::count_if(restarts_.begin(), restarts_.end(), [&](Instant restart) {
    return !policy_.window || now - restart < *policy_.window;
  });
  return !is_forbidden_ && counted < policy_.max_restarts;
}

void RestartDecider::note_restart(Instant now, Instant::duration ran) {
  const bool has_failed_soon = !last_signature_.empty() && ran < kSteadyRun;
  restarts_in_a_row_ = has_failed_soon ? restarts_in_a_row_ + 1 : 1;
  restarts_.push_back(now);
}

std::chrono::milliseconds RestartDecider::backoff() const {
  return restart_pause(restarts_in_a_row_, policy_.backoff);
}

}  // namespace muster::gang
