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

/// True where the collectives of a rank are known.
bool has_counts(const Evidence& evidence) {
  return std::ranges::any_of(evidence.ranks, [](const RankEvidence& one) { return !one.groups.empty(); });
}

bool may_hang(const std::vector<RankEvidence>& ranks, const Verdict& verdict) {
  return verdict.finding == Finding::Named || (verdict.finding != Finding::Moving && !may_go_on(ranks));
}

}  // namespace

StallDetector::StallDetector(Limits limits, int world_size)
    : limit_(limits.report > 0 && limits.end > 0 ? std::min(limits.report, limits.end) : limits.report + limits.end),
      end_(limits.end),
      world_size_(world_size) {}

/// The job is not quiet, or not for long enough.
StallDetector::Step StallDetector::begin_again(double quiet) {
  Step step{.gathers = false, .delay = std::max(limit_ / 2 - quiet, kLeastDelay), .lines = {}, .is_moving = true};
  if (std::exchange(reported_, {}) == Finding::Named) {
    step.lines.push_back("the job moves again after " + seconds_text(longest_quiet_));
  }
  before_.reset();
  asks_after_ = 0;
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
    // Not sooner after a look that came late: a job that was paused goes on meanwhile.
    return {.gathers = false, .delay = std::max(limit_ - quiet, limit_ / 4), .lines = {}};
  }
  if (quiet < limit_) {
    return {.gathers = false, .delay = std::max(limit_ - quiet, kLeastDelay), .lines = {}};
  }
  mark_moving(evidence, *before_);
  longest_quiet_ = quiet;
  const bool may_ask = evidence.has_idle_recorders && !has_counts(evidence);
  return may_ask ? ask_or_compare(std::move(evidence)) : compare(std::move(evidence));
}

/// For a job whose recorders listen, and whose collectives are not known.
StallDetector::Step StallDetector::ask_or_compare(Evidence evidence) {
  const double quiet = evidence.quiet;
  const bool is_named = reported_ == Finding::Named;
  if (!ends(quiet) && (is_named || quiet < asks_after_)) {
    if (!is_named) {
      before_ = std::move(evidence);
    }
    return {.gathers = false, .delay = next_delay(quiet), .lines = {}};
  }
  if (evidence.missing == 0 && may_hang(evidence.ranks, judge(evidence.ranks))) {
    return {.gathers = true, .asks_recorders = true, .delay = 0, .lines = {}};
  }
  return compare(std::move(evidence));
}

/// A rank that is behind at one moment may go on: collectives count if they were known at the look before, too.
StallDetector::Step StallDetector::compare(Evidence evidence) {
  Step step{.gathers = false, .delay = next_delay(evidence.quiet), .lines = {}};
  if (!has_counts(evidence) || has_counts(*before_)) {
    step = report(evidence);
    asks_after_ = has_counts(evidence) && may_go_on(evidence.ranks) ? 2 * evidence.quiet : asks_after_;
  }
  before_ = std::move(evidence);
  return step;
}

double StallDetector::next_delay(double quiet) const {
  return std::max(quiet < end_ ? std::min(end_ - quiet, limit_ / 2) : limit_ / 2, kLeastDelay);
}

/// Says it once for each stall; a rank may be named after all were alike.
StallDetector::Step StallDetector::report(const Evidence& evidence) {
  const double quiet = evidence.quiet;
  Step step{.gathers = false, .delay = next_delay(quiet), .lines = {}};
  if (evidence.missing > 0) {  // the others may wait for ranks of these
    return step;
  }
  const Verdict verdict = judge(evidence.ranks);
  std::vector<std::string> lines = describe(verdict, evidence, world_size_);
  if (lines.empty()) {
    return step;
  }
  const bool is_named = verdict.finding == Finding::Named;
  const bool is_moving = std::ranges::any_of(evidence.ranks, &RankEvidence::is_moving);
  const bool is_new = reported_ != Finding::Named && reported_ != verdict.finding;
  const bool is_told = is_new && (is_named || (verdict.finding == Finding::Alike && !is_moving));
  Look look{.why = "the job has not moved for " + seconds_text(quiet),
            .quiet = quiet,
            .verdict = lines,
            .ranks = is_named ? verdict.ranks : std::vector<int>(),
            .begins_stall = is_told && !reported_};
  lines.front() = look.why + ": " + lines.front();
  step.hang = find_hang(evidence, verdict, lines.front());
  if (is_told) {
    reported_ = verdict.finding;
    step.lines = std::move(lines);
  }
  if (reported_ || step.hang) {
    step.look = std::move(look);
  }
  return step;
}

std::optional<StallDetector::Hang> StallDetector::find_hang(const Evidence& evidence, const Verdict& verdict,
                                                            std::string why) const {
  if (!ends(evidence.quiet) || !may_hang(evidence.ranks, verdict)) {
    return {};
  }
  Hang hang{std::move(why), {}};
  for (const RankEvidence& one : evidence.ranks) {
    if (one.place.end.empty() && std::ranges::binary_search(verdict.ranks, one.rank)) {
      hang.ranks.push_back(one.rank);
    }
  }
  return hang;
}

}  // namespace muster::hang
