// Compares two looks at a quiet job.
#include "hang/stall_detector.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace muster::hang {
namespace {

constexpr double kLeastDelay = 1;  // seconds

std::string seconds_text(double seconds) {
  return std::to_string(static_cast<long>(std::lround(seconds))) + " s";
}

}  // namespace

/// The job is not quiet, or not for long enough.
StallDetector::Step StallDetector::begin_again(double quiet) {
  Step step{.gathers = false, .delay = std::max(limit_ / 2 - quiet, kLeastDelay), .lines = {}};
  if (std::exchange(reported_, {}) == Finding::Named) {
    step.lines.push_back("the job moves again after " + seconds_text(longest_quiet_));
  }
  before_.reset();
  return step;
}

StallDetector::Step StallDetector::on_time(double quiet) {
  return quiet < limit_ / 2 ? begin_again(quiet) : Step{.gathers = true, .delay = 0, .lines = {}};
}

StallDetector::Step StallDetector::on_evidence(Evidence evidence) {
  const double quiet = evidence.quiet;
  if (quiet < limit_ / 2 || (before_ && quiet < before_->quiet)) {
    return begin_again(quiet);
  }
  if (!before_) {
    before_ = std::move(evidence);
    return {.gathers = false, .delay = std::max(limit_ - quiet, kLeastDelay), .lines = {}};
  }
  if (quiet < limit_) {
    return {.gathers = false, .delay = std::max(limit_ - quiet, kLeastDelay), .lines = {}};
  }
  mark_moving(evidence.ranks, before_->ranks, quiet - before_->quiet);
  longest_quiet_ = quiet;
  Step step = report(evidence);
  before_ = std::move(evidence);
  return step;
}

/// Says it once for each stall; a rank may be named after all were alike.
StallDetector::Step StallDetector::report(const Evidence& evidence) {
  Step step{.gathers = false, .delay = limit_ / 2, .lines = {}};
  const Verdict verdict = judge(evidence.ranks);
  const bool is_new = reported_ != Finding::Named && reported_ != verdict.finding;
  if (is_new && (verdict.finding == Finding::Named || verdict.finding == Finding::Alike)) {
    reported_ = verdict.finding;
    step.lines = describe(verdict, evidence.ranks, world_size_);
    if (!step.lines.empty()) {
      step.lines.front() = "the job has not moved for " + seconds_text(evidence.quiet) + ": " + step.lines.front();
    }
  }
  return step;
}

}  // namespace muster::hang
