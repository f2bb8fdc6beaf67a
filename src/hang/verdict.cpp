// Finds the few ranks that keep the others waiting.
#include "hang/verdict.hpp"

#include "base/ranks.hpp"
#include "base/text.hpp"
#include "hang/occupation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace muster::hang {
namespace {

/// The occupation of a rank, as far as two looks have shown it.
enum class Activity {
  Ended,
  Waits,   ///< for other ranks
  Works,   ///< has moved, or is in code that shows nothing for minutes, such as a compiler
  Stands,  ///< its place is known, and it has not moved
  Idle,    ///< waits for a request, a child or its input
  Unknown  ///< nothing is known to have moved, and its place could not be read
};

bool cannot_run(const Place& place) {
  return place.state == 'D' || place.state == 'T' || place.state == 't' || place.state == 'Z';
}

bool has_pending(const RankEvidence& one) {
  return std::ranges::any_of(
      one.groups, [](const GroupProgress& group) { return group.completed >= 0 && group.completed < group.enqueued; });
}

bool waits_by(Occupation occupation, const RankEvidence& one) {
  const bool is_idle_backward = occupation == Occupation::Backward && !one.is_moving;
  return !cannot_run(one.place) && (occupation == Occupation::WaitsForRanks || is_idle_backward || has_pending(one));
}

Activity activity_of(const RankEvidence& one) {
  if (!one.place.end.empty()) {
    return Activity::Ended;
  }
  const Occupation occupation = occupation_of(one.place);
  if (waits_by(occupation, one)) {
    return Activity::Waits;
  }
  if (one.is_looping) {
    return Activity::Stands;
  }
  const bool runs = one.place.state == 'R' && !one.place.stack.empty();
  if (one.is_moving || runs || occupation == Occupation::Compiles || occupation == Occupation::Imports) {
    return Activity::Works;
  }
  switch (occupation) {
    case Occupation::Serves:
    case Occupation::WaitsForChild:
    case Occupation::WaitsForInput:
      return cannot_run(one.place) ? Activity::Stands : Activity::Idle;
    default:
      return one.place.stack.empty() && !cannot_run(one.place) ? Activity::Unknown : Activity::Stands;
  }
}

using Ranks = std::set<int>;

/// The ranks by what they do.
class Activities {
 public:
  explicit Activities(const std::vector<RankEvidence>& evidence) : all_(evidence.size()) {
    for (const RankEvidence& one : evidence) {
      const Activity activity = activity_of(one);
      of_rank_[one.rank] = activity;
      ranks_[activity].insert(one.rank);
    }
  }

  std::size_t all() const { return all_; }
  const Ranks& ranks(Activity activity) { return ranks_[activity]; }
  bool has(Activity activity) { return !ranks_[activity].empty(); }
  Ranks among(const Ranks& ranks, Activity activity) const {
    Ranks found;
    std::ranges::copy_if(ranks, std::inserter(found, found.end()),
                         [&](int rank) { return of_rank_.at(rank) == activity; });
    return found;
  }

 private:
  std::size_t all_;
  std::map<int, Activity> of_rank_;
  std::map<Activity, Ranks> ranks_;
};

}  // namespace

bool waits(const RankEvidence& one) {
  return activity_of(one) == Activity::Waits;
}

namespace {

bool has_ended(const RankEvidence& one) {
  return !one.place.end.empty();
}
/// The operation in which most of the ranks wait; empty: none waits in a known operation.
std::string most_common_wait(const std::vector<RankEvidence>& evidence) {
  std::map<std::string, int> counts;
  for (const RankEvidence& one : evidence) {
    if (waits(one)) {
      ++counts[awaited_operation(one.place.stack)];
    }
  }
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& one, const auto& other) { return one.second < other.second; });
  return most == counts.end() ? "" : most->first;
}

/// The calls of a rank for a comparison: with lines in the user's program, without lines in libraries, whose waits
/// are loops.
std::vector<std::string> signature(const Place& place) {
  std::vector<std::string> calls{awaited_operation(place.stack)};
  for (const Frame& frame : place.stack) {
    calls.push_back(frame.file + ":" + frame.function + (is_library(frame) ? "" : ":" + std::to_string(frame.line)));
  }
  return calls;
}

/// Ranks with stacks that are at another place than most; empty: no place has most of all ranks.
Ranks outliers(const std::vector<RankEvidence>& evidence) {
  std::map<std::vector<std::string>, Ranks> groups;
  Ranks others;
  for (const RankEvidence& one : evidence) {
    if (!one.place.stack.empty()) {
      groups[signature(one.place)].insert(one.rank);
      others.insert(one.rank);
    }
  }
  const auto largest = std::max_element(groups.begin(), groups.end(), [](const auto& one, const auto& other) {
    return one.second.size() < other.second.size();
  });
  if (largest == groups.end() || largest->second.size() * 2 <= evidence.size()) {
    return {};
  }
  std::erase_if(others, [&](int rank) { return largest->second.contains(rank); });
  return others;
}

Verdict make_verdict(Finding finding, const Ranks& ranks, const std::vector<RankEvidence>& evidence) {
  return {finding,
          {ranks.begin(), ranks.end()},
          most_common_wait(evidence),
          static_cast<int>(evidence.size() - ranks.size())};
}

/// Accuses the ranks that keep the others waiting, unless one of them does something or may have a reason to wait. A
/// rank that nobody could read is not accused.
Verdict accuse(const Ranks& ranks, Activities& activities, const std::vector<RankEvidence>& evidence) {
  if (const Ranks working = activities.among(ranks, Activity::Works); !working.empty()) {
    return make_verdict(Finding::WaitedFor, working, evidence);
  }
  if (const Ranks idle = activities.among(ranks, Activity::Idle); !idle.empty()) {
    return make_verdict(Finding::Idle, idle, evidence);
  }
  return make_verdict(Finding::Named, ranks, evidence);
}

/// Judges a job in which some ranks have ended.
Verdict judge_ended(Activities& activities, const std::vector<RankEvidence>& evidence) {
  const Ranks ended = activities.ranks(Activity::Ended);
  Ranks alive;
  for (const RankEvidence& one : evidence) {
    if (!has_ended(one)) {
      alive.insert(one.rank);
    }
  }
  const bool have_most_ended = alive.size() < ended.size();
  if (alive.empty() || (!activities.has(Activity::Waits) && !have_most_ended && !activities.has(Activity::Works))) {
    return {};
  }
  if (activities.has(Activity::Works)) {
    const bool is_waited_for = activities.has(Activity::Waits) || have_most_ended;
    return make_verdict(is_waited_for ? Finding::WaitedFor : Finding::Moving, activities.ranks(Activity::Works),
                        evidence);
  }
  Ranks absent = activities.ranks(Activity::Stands);  // a rank that has ended may have done its part
  absent.insert(activities.ranks(Activity::Idle).begin(), activities.ranks(Activity::Idle).end());
  if (!absent.empty()) {
    return accuse(absent, activities, evidence);
  }
  return have_most_ended ? accuse(alive, activities, evidence) : make_verdict(Finding::Named, ended, evidence);
}

/// Names the ranks that have not come to a collective, as far as the progress is known.
Verdict judge_absent(Activities& activities, const std::vector<RankEvidence>& evidence) {
  std::vector<RankProgress> progress;
  Ranks silent;  // such as a rank that holds Python's lock, so that it cannot write its dump
  for (const RankEvidence& one : evidence) {
    if (!one.groups.empty()) {
      progress.push_back({one.rank, one.groups});
    } else if (!waits(one)) {
      silent.insert(one.rank);
    }
  }
  Absent absent = silent.size() < progress.size() ? find_absent(progress, silent) : find_absent(progress);
  if (absent.ranks.empty()) {
    return {};
  }
  Ranks ranks;
  for (const auto& [rank, last] : absent.ranks) {
    ranks.insert(rank);
  }
  Verdict verdict = accuse(ranks, activities, evidence);
  verdict.wait = std::move(absent.collective);
  verdict.waiting = absent.waiting;
  verdict.entered = std::move(absent.ranks);
  return verdict;
}

/// Judges a job in which nobody is known to wait for others. It stands still for certain only if the kernel or a file
/// lock holds all ranks: anything else that they wait for may still come.
Verdict judge_without_waits(Activities& activities, const std::vector<RankEvidence>& evidence) {
  if (activities.has(Activity::Works)) {
    return make_verdict(Finding::Moving, activities.ranks(Activity::Works), evidence);
  }
  if (activities.has(Activity::Unknown)) {
    return make_verdict(Finding::Unknown, activities.ranks(Activity::Unknown), evidence);
  }
  const bool are_held = std::ranges::all_of(evidence, [](const RankEvidence& one) {
    return cannot_run(one.place) || occupation_of(one.place) == Occupation::WaitsForLock;
  });
  const bool are_idle = activities.has(Activity::Idle) || !are_held;
  return make_verdict(are_idle ? Finding::Idle : Finding::Still, {}, evidence);
}

/// Judges ranks that all wait for each other: names those that are at another place than most. Not while they find
/// each other, because then each goes from place to place by itself.
Verdict judge_waits(Activities& activities, const std::vector<RankEvidence>& evidence) {
  const bool have_met = std::ranges::none_of(
      evidence, [](const RankEvidence& one) { return is_first_meeting(awaited_operation(one.place.stack)); });
  const Ranks others = have_met ? outliers(evidence) : Ranks();
  const auto computes = [&](const RankEvidence& one) { return others.contains(one.rank) && one.is_spinning; };
  if (std::ranges::any_of(evidence, computes)) {
    return make_verdict(Finding::WaitedFor, others, evidence);
  }
  return others.empty() ? make_verdict(Finding::Still, {}, evidence) : accuse(others, activities, evidence);
}

/// "rank 9 (gpu-17, pid 4711) last entered collective 84924; it is at train.py:212 in load_shard"
std::string describe_one(const RankEvidence& one, const std::map<int, std::int64_t>& entered) {
  const bool has_pid = one.place.end.empty() && one.pid > 0;
  const std::string verb = !one.place.end.empty() ? " has ended: " : one.place.stack.empty() ? " is in " : " is at ";
  const auto last = entered.find(one.rank);
  return "rank " + std::to_string(one.rank) + " (" + one.host + (has_pid ? ", pid " + std::to_string(one.pid) : "") +
         ")" +
         (last == entered.end() || last->second < 0
              ? ""
              : " last entered collective " + std::to_string(last->second) + "; it") +
         verb + describe(one.place);
}

std::string describe_waiting(const Verdict& verdict, const std::vector<RankEvidence>& evidence, int world_size) {
  const bool others_have_ended = std::ranges::all_of(evidence, [&](const RankEvidence& one) {
    return has_ended(one) || std::ranges::binary_search(verdict.ranks, one.rank);
  });
  const std::string what =
      others_have_ended ? " ranks have ended, and not " : " ranks wait in " + verdict.wait + " for ";
  const bool is_one = verdict.ranks.size() == 1;
  const std::string busy = verdict.finding == Finding::WaitedFor ? (is_one ? ", which works" : ", which work")
                           : verdict.finding == Finding::Idle    ? ", idle"
                                                                 : "";
  return std::to_string(verdict.waiting) + " of " + std::to_string(world_size) + what + describe_ranks(verdict.ranks) +
         busy;
}

std::string describe_fabric(double bytes_per_second) {
  constexpr double kKilo = 1'000;
  constexpr double kMost = 1e15;
  const long rate = std::lround(std::min(bytes_per_second / kKilo, kMost));
  return "the RDMA ports of its hosts carry " + (rate == 0 ? "nothing" : std::to_string(rate) + " kB/s");
}

/// Names the place of most ranks that are not named.
std::string describe_others(const Verdict& verdict, const std::vector<RankEvidence>& evidence) {
  std::vector<RankEvidence> others;
  std::copy_if(evidence.begin(), evidence.end(), std::back_inserter(others), [&](const RankEvidence& one) {
    return !std::binary_search(verdict.ranks.begin(), verdict.ranks.end(), one.rank);
  });
  const Group largest = group(others).front();
  const bool is_one = largest.ranks.size() == 1;
  return (is_one ? describe_ranks(largest.ranks) : std::to_string(largest.ranks.size()) + " ranks are alike") + ": " +
         describe(largest.place);
}

}  // namespace

Verdict judge(const std::vector<RankEvidence>& evidence) {
  Activities activities(evidence);
  const auto has_passed = [](const RankEvidence& one) { return one.is_moving && !one.is_spinning && waits(one); };
  if (std::ranges::any_of(evidence, has_passed)) {
    return make_verdict(Finding::Moving, {}, evidence);  // a collective went through
  }
  if (activities.has(Activity::Ended)) {
    return judge_ended(activities, evidence);
  }
  if (Verdict absent = judge_absent(activities, evidence); !absent.ranks.empty()) {
    return absent;
  }
  if (!activities.has(Activity::Waits)) {
    return judge_without_waits(activities, evidence);
  }
  Ranks absent;  // an unreadable rank may wait as well
  for (const Activity activity : {Activity::Works, Activity::Stands, Activity::Idle}) {
    absent.insert(activities.ranks(activity).begin(), activities.ranks(activity).end());
  }
  if (activities.ranks(Activity::Waits).size() * 2 < activities.all()) {
    const Finding finding = activities.has(Activity::Works)     ? Finding::Moving
                            : activities.has(Activity::Unknown) ? Finding::Unknown
                                                                : Finding::Unclear;
    return make_verdict(finding, activities.ranks(Activity::Unknown), evidence);
  }
  return absent.empty() ? judge_waits(activities, evidence) : accuse(absent, activities, evidence);
}

namespace {

/// Describes where all ranks are if none keeps the others waiting; otherwise empty.
std::string describe_all(const Verdict& verdict, const std::vector<RankEvidence>& evidence) {
  const std::vector<Group> places = group(evidence);
  if (verdict.ranks.empty() && places.size() == 1) {
    const Place& place = places.front().place;
    return std::string("all ranks are ") + (place.stack.empty() ? "in " : "at ") + describe(place);
  }
  if (verdict.finding == Finding::Unknown) {
    return "where " + describe_ranks(verdict.ranks) + " " + (verdict.ranks.size() == 1 ? "is" : "are") +
           " is not known";
  }
  if (verdict.ranks.empty() || verdict.finding == Finding::Moving || verdict.finding == Finding::Unclear) {
    return (verdict.wait.empty() ? "its ranks are at " : "its ranks wait for others, at ") +
           std::to_string(places.size()) + " different places";
  }
  return "";
}

std::vector<std::string> describe_ranks_in(const Verdict& verdict, const std::vector<RankEvidence>& evidence,
                                           int world_size) {
  constexpr std::size_t kMostNamed = 4;
  if (evidence.empty()) {
    return {};
  }
  if (std::string all = describe_all(verdict, evidence); !all.empty()) {
    return {std::move(all)};
  }
  std::vector<std::string> lines{describe_waiting(verdict, evidence, world_size)};
  for (const RankEvidence& one : evidence) {
    if (lines.size() <= kMostNamed && std::binary_search(verdict.ranks.begin(), verdict.ranks.end(), one.rank)) {
      lines.push_back(describe_one(one, verdict.entered));
    }
  }
  if (verdict.waiting > 0) {
    lines.push_back(describe_others(verdict, evidence));
  }
  return lines;
}

}  // namespace

std::string describe_work(const Verdict& verdict, const std::vector<RankEvidence>& evidence) {
  constexpr double kPercent = 100;
  const auto one = std::ranges::find(evidence, verdict.ranks.front(), &RankEvidence::rank);
  const bool is_one = verdict.ranks.size() == 1;
  const long share = one == evidence.end() ? 0 : std::lround(one->cpu_share * kPercent);
  const std::string work = share > 0 ? (is_one ? "works" : "work") : (is_one ? "polls or reads" : "poll or read");
  return "the job waits for " + describe_ranks(verdict.ranks) + ", which " + work + ": " +
         (is_one ? "" : "rank " + std::to_string(verdict.ranks.front()) + " ") +
         (share > 0 ? std::to_string(share) : "less than 1") + " % of a CPU, " +
         (one == evidence.end() || one->place.stack.empty() ? "no Python stack" : "at " + describe(one->place));
}

std::vector<std::string> describe(const Verdict& verdict, const Evidence& evidence, int world_size) {
  std::vector<std::string> lines = describe_ranks_in(verdict, evidence.ranks, world_size);
  if (!lines.empty() && !evidence.store.empty()) {
    lines.push_back(evidence.store);
  }
  if (!lines.empty() && evidence.fabric_rate) {
    lines.push_back(describe_fabric(*evidence.fabric_rate));
  }
  return lines;
}

}  // namespace muster::hang
