// Compares two looks at a quiet job.
#include "hang/stall_detector.hpp"

#include "hang/movement.hpp"
#include "hang/occupation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace muster::hang {
namespace {

constexpr double kLeastDelay = 1;  // seconds
/// Looks at which a job must hang before it is ended, and the divisor of the limit for the time between them.
constexpr int kLooksToEnd = 3;
constexpr double kLooksInTime = 5;
/// In limits: time after which the report says who works while others wait, and then who only spins.
constexpr double kLongWork = 5;

std::string seconds_text(double seconds) {
  return std::to_string(static_cast<long>(std::lround(seconds))) + " s";
}

/// True where the collectives of a rank are known.
bool has_counts(const Evidence& evidence) {
  return std::ranges::any_of(evidence.ranks, [](const RankEvidence& one) { return !one.groups.empty(); });
}

/// True if all ranks train, and none has done more than use its CPU, as a wait for a device does, too.
bool may_ask_recorders(const Evidence& evidence) {
  return evidence.missing == 0 && std::ranges::none_of(evidence.ranks, [](const RankEvidence& one) {
           return (one.is_moving && !one.is_spinning) || occupation_of(one.place) == Occupation::Compiles ||
                  is_importing(one.place.stack) || is_first_meeting(awaited_operation(one.place.stack));
         });
}

double shortest(const StallDetector::Limits& limits) {
  double shortest = 0;
  for (const double limit : {limits.report, limits.end, limits.first_meeting}) {
    shortest = limit > 0 && (shortest == 0 || limit < shortest) ? limit : shortest;
  }
  return shortest;
}

bool is_hang(const Verdict& verdict) {
  return verdict.finding == Finding::Named || verdict.finding == Finding::Still;
}

/// "rank 0 (gpu-17) has no Python stack: ...", of the first rank that somebody could make readable; empty: none.
std::string describe_missing(const Verdict& verdict, const Evidence& evidence) {
  const auto one = std::ranges::find_if(evidence.ranks, [&](const RankEvidence& rank) {
    return std::ranges::binary_search(verdict.ranks, rank.rank) && rank.place.no_stack != kNotPython;
  });
  return one == evidence.ranks.end()
             ? ""
             : "rank " + std::to_string(one->rank) + " (" + one->host + ") has no Python stack: " + one->place.no_stack;
}

std::vector<std::string> lines_of(const StallDetector::Look& look) {
  std::vector<std::string> lines = look.verdict;
  lines.front() = look.why + ": " + lines.front();
  return lines;
}

}  // namespace

StallDetector::StallDetector(Limits limits, int world_size)
    : limits_(limits), limit_(shortest(limits)), world_size_(world_size), has_met_(world_size == 1) {}

/// Goes back to watching, because the job is not quiet, or not long enough.
StallDetector::Step StallDetector::begin_again(double quiet) {
  Step step{.delay = std::max(limit_ / 2 - quiet, kLeastDelay), .is_moving = true};
  if (std::exchange(reported_, {}) == Finding::Named) {
    step.lines.push_back("the job moves again after " + seconds_text(longest_quiet_));
  }
  before_.reset();
  spins_.clear();
  seen_.reset();
  has_said_who_works_ = false;
  asks_after_ = 0;
  return step;
}

StallDetector::Step StallDetector::on_time(double quiet, double others_quiet) {
  return quiet < limit_ / 2 && others_quiet < limit_ ? begin_again(quiet) : Step{.gathers = true};
}

StallDetector::Step StallDetector::on_evidence(Evidence evidence) {
  const double quiet = evidence.quiet;
  if (quiet < limit_ / 2 && evidence.others_quiet >= limit_) {
    return check_beside_writer(evidence);
  }
  writer_watch_.forget();
  if (quiet < limit_ / 2 || (before_ && quiet < before_->quiet)) {
    return begin_again(quiet);
  }
  note_meeting(evidence);
  if (!before_) {
    before_ = std::move(evidence);
    // Not sooner after a look that came late: a job that was paused goes on meanwhile.
    return {.delay = std::min(std::max(limit_ - quiet, limit_ / 4), next_delay(quiet))};
  }
  mark_moving(evidence, *before_, quiet - before_->quiet);
  if (quiet < limit_) {  // compared with the first look: the longer, the surer
    note_verdict(judge(evidence.ranks), quiet);
    return {.delay = std::max(std::min(limit_ - quiet, next_delay(quiet)), kLeastDelay)};
  }
  note_loops(evidence);
  longest_quiet_ = quiet;
  const bool may_ask = evidence.has_idle_recorders && !has_counts(evidence);
  return may_ask ? ask_or_compare(std::move(evidence)) : compare(std::move(evidence));
}

StallDetector::Look StallDetector::describe_stall(const Verdict& verdict, const Evidence& evidence, double seconds,
                                                  bool begins) const {
  return {.why = "the job has not moved for " + seconds_text(seconds),
          .quiet = seconds,
          .verdict = describe(verdict, evidence, world_size_),
          .ranks = verdict.ranks,
          .begins_stall = begins};
}

/// Names a rank that stands still beside one that writes, once, like any other rank.
StallDetector::Step StallDetector::check_beside_writer(const Evidence& evidence) {
  Step step = begin_again(evidence.quiet);
  note_meeting(evidence);
  const auto stand = writer_watch_.look(evidence);
  if (!stand && std::exchange(has_named_beside_writer_, false)) {
    step.lines.emplace_back("the job moves again");
  }
  step.delay = stand && end() > 0 ? std::min(limit_, end() / kLooksInTime) : limit_;
  if (!stand || stand->seconds < limit_) {
    return step;
  }
  const bool is_new = !std::exchange(has_named_beside_writer_, true);
  Look look = describe_stall(stand->verdict, evidence, stand->seconds, is_new);
  std::vector<std::string> lines = lines_of(look);
  if (end() > 0 && stand->seconds >= end() && stand->looks >= kLooksToEnd) {
    step.hang = Hang{lines.front(), look.ranks};
  }
  if (is_new) {
    step.lines = std::move(lines);
  }
  step.is_moving = false;
  step.look = std::move(look);
  return step;
}

/// Asks the recorders first, if they listen and the job's collectives are not known.
StallDetector::Step StallDetector::ask_or_compare(Evidence evidence) {
  const double quiet = evidence.quiet;
  const bool is_named = reported_ == Finding::Named;
  const bool is_end_near = end() > 0 && quiet >= end() * (kLooksInTime - kLooksToEnd + 1) / kLooksInTime;
  if (!is_end_near && (is_named || quiet < asks_after_)) {
    if (!is_named) {
      before_ = std::move(evidence);
    }
    return {.delay = next_delay(quiet)};
  }
  return may_ask_recorders(evidence) ? Step{.gathers = true, .asks_recorders = true} : compare(std::move(evidence));
}

/// Compares two looks. Collectives count only if both looks know them: a rank may be behind for a moment.
StallDetector::Step StallDetector::compare(Evidence evidence) {
  const double quiet = evidence.quiet;
  Step step{.delay = next_delay(quiet)};
  if (!has_counts(evidence) || has_counts(*before_)) {
    const Verdict verdict = judge(evidence.ranks);
    note_verdict(verdict, quiet);
    step = report(evidence, verdict);
    asks_after_ = has_counts(evidence) && !is_hang(verdict) ? 2 * quiet : asks_after_;
  }
  before_ = std::move(evidence);
  return step;
}

double StallDetector::next_delay(double quiet) const {
  double delay = limit_ / 2;
  if (end() > 0) {
    delay = std::min(delay, end() / kLooksInTime);
    delay = quiet < end() ? std::min(delay, end() - quiet) : delay;
  }
  return std::max(delay, kLeastDelay);
}

/// Marks ranks that have used their CPU at the same calls for very long, as in an endless loop. A rank that looks for
/// something every few seconds is none of them, nor one that has to share its CPU with many.
void StallDetector::note_loops(Evidence& evidence) {
  constexpr double kLeastShare = 0.5;
  for (RankEvidence& one : evidence.ranks) {
    if (!one.is_spinning) {
      spins_.erase(one.rank);
      continue;
    }
    Spin& spin = spins_.try_emplace(one.rank, Spin{before_->quiet}).first->second;
    spin.cpu += one.cpu_share * (evidence.quiet - before_->quiet);
    const double seconds = evidence.quiet - spin.since;
    one.is_looping = seconds >= kLongWork * limit_ && spin.cpu >= kLeastShare * seconds;
  }
}

/// The ranks have met once one of them waits in an operation that follows the first one, or has ended.
void StallDetector::note_meeting(const Evidence& evidence) {
  has_met_ = has_met_ || std::ranges::any_of(evidence.ranks, [](const RankEvidence& one) {
               const std::string operation = awaited_operation(one.place.stack);
               const bool has_counted =
                   std::ranges::any_of(one.groups, [](const GroupProgress& group) { return group.completed > 0; });
               return has_counted || !one.place.end.empty() || (!operation.empty() && !is_first_meeting(operation));
             });
}

/// Counts the looks that have led to the same verdict.
void StallDetector::note_verdict(const Verdict& verdict, double quiet) {
  constexpr double kTolerance = 0.9;  // of a look that comes a little early
  if (!is_hang(verdict)) {
    seen_.reset();
  } else if (seen_ != verdict.finding || seen_ranks_ != verdict.ranks) {
    seen_ = verdict.finding;
    seen_ranks_ = verdict.ranks;
    seen_since_ = before_->quiet;
    seen_at_ = quiet;
    times_seen_ = 1;
  } else if (quiet - seen_at_ >= kTolerance * end() / kLooksInTime) {
    seen_at_ = quiet;
    ++times_seen_;
  }
}

/// True if the looks are far enough apart. A rank that looks for something every few seconds does nothing between two
/// near looks, and ranks that meet for the first time wait for the store, which a busy machine may delay.
bool StallDetector::is_long_enough(double quiet) const {
  constexpr double kTolerance = 0.9;  // of a look that comes a little early
  const bool are_meeting = seen_ == Finding::Still && !has_met_ && limits_.first_meeting <= 0;
  return quiet - seen_since_ >= kTolerance * limit_ * (are_meeting ? kLongWork : 0.5);
}

/// Reports the verdict, once for each stall; a rank may be named after a report that all stand still.
StallDetector::Step StallDetector::report(const Evidence& evidence, const Verdict& verdict) {
  const double quiet = evidence.quiet;
  Step step{.delay = next_delay(quiet)};
  if (evidence.missing > 0) {  // the others may wait for ranks of these
    return step;
  }
  if (!is_hang(verdict)) {
    step.lines = lines_without_stall(evidence, verdict);
    return step;
  }
  if (!is_long_enough(quiet)) {
    return step;
  }
  const bool is_told = reported_ != Finding::Named && reported_ != verdict.finding;
  Look look = describe_stall(verdict, evidence, quiet, is_told && !reported_);
  std::vector<std::string> lines = lines_of(look);
  step.hang = find_hang(evidence, verdict, lines.front());
  if (is_told) {
    reported_ = verdict.finding;
    step.lines = std::move(lines);
  }
  step.look = std::move(look);
  return step;
}

/// Describes a job that may go on: a fact that accuses nobody, and why nothing can be said.
std::vector<std::string> StallDetector::lines_without_stall(const Evidence& evidence, const Verdict& verdict) {
  if (verdict.finding == Finding::WaitedFor && evidence.quiet >= kLongWork * limit_ &&
      !std::exchange(has_said_who_works_, true)) {
    return {describe_work(verdict, evidence.ranks)};
  }
  const std::string missing = verdict.finding == Finding::Unknown ? describe_missing(verdict, evidence) : "";
  if (!missing.empty() && !std::exchange(has_said_what_is_missing_, true)) {
    return {"no rank has written a line for " + seconds_text(evidence.quiet) +
            ", and whether the job hangs cannot be seen: " + missing};
  }
  return {};
}

std::optional<StallDetector::Hang> StallDetector::find_hang(const Evidence& evidence, const Verdict& verdict,
                                                            std::string why) const {
  if (end() <= 0 || evidence.quiet < end() || times_seen_ < kLooksToEnd) {
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
