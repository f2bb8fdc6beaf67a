// Finds the few ranks that keep the others waiting.
#include "hang/verdict.hpp"

#include "base/ranks.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace muster::hang {
namespace {

/// Code in which a single rank may stay for minutes without a change that is seen from outside: compilers, and the loops
/// of servers, which may wait for a request for hours.
constexpr std::array<std::string_view, 10> kLongWork{"torch/_inductor/",
                                                     "torch/_dynamo/",
                                                     "torch/utils/cpp_extension.py",
                                                     "triton/",
                                                     "jax/_src/compiler.py",
                                                     "tensorrt/",
                                                     "asyncio/base_events.py",
                                                     "/socketserver.py",
                                                     "/uvicorn/",
                                                     "grpc/_server.py"};

bool is_long_work(const Stack& stack) {
  return std::any_of(stack.begin(), stack.end(), [](const Frame& frame) {
    return std::any_of(kLongWork.begin(), kLongWork.end(),
                       [&](std::string_view part) { return frame.file.find(part) != std::string::npos; });
  });
}

using Ranks = std::set<int>;

template <typename IsSo>
Ranks ranks_where(const std::vector<RankEvidence>& evidence, const IsSo& is_so) {
  Ranks ranks;
  for (const RankEvidence& one : evidence) {
    if (is_so(one.place)) {
      ranks.insert(one.rank);
    }
  }
  return ranks;
}

bool has_ended(const Place& place) {
  return !place.end.empty();
}
bool waits(const Place& place) {
  return !has_ended(place) && !waits_for_others(place.stack).empty();
}
/// Of a rank whose stack could not be read it is not known whether it waits.
bool works(const Place& place) {
  return !waits(place) && !place.stack.empty();
}
bool cannot_run(const Place& place) {
  return !has_ended(place) && (place.state == 'D' || place.state == 'T' || place.state == 't' || place.state == 'Z');
}

/// The operation in which most of the ranks wait; empty: none waits in a known one.
std::string most_common_wait(const std::vector<RankEvidence>& evidence) {
  std::map<std::string, int> counts;
  for (const RankEvidence& one : evidence) {
    if (waits(one.place)) {
      ++counts[waits_for_others(one.place.stack)];
    }
  }
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& one, const auto& other) { return one.second < other.second; });
  return most == counts.end() ? "" : most->first;
}

/// Few ranks: fewer than half of them.
bool are_few(std::size_t ranks, std::size_t all) {
  return ranks > 0 && ranks * 2 < all;
}

/// The place of a rank, for a comparison: its calls, in the user's program with their lines, but in libraries without,
/// since waits there are loops; without a stack, what the kernel says.
std::vector<std::string> signature(const Place& place) {
  if (place.stack.empty()) {
    return {place.end, place.state == 'R' ? "R" : "S", place.wait};
  }
  std::vector<std::string> calls{waits_for_others(place.stack)};
  for (const Frame& frame : place.stack) {
    calls.push_back(frame.file + ":" + frame.function + (is_library(frame) ? "" : ":" + std::to_string(frame.line)));
  }
  return calls;
}

/// The ranks that are at another place than most, as far as their places are known; empty: no place has most of them.
Ranks outliers(const std::vector<RankEvidence>& evidence) {
  std::map<std::vector<std::string>, Ranks> groups;
  Ranks all;
  for (const RankEvidence& one : evidence) {
    groups[signature(one.place)].insert(one.rank);
    all.insert(one.rank);
  }
  const auto largest = std::max_element(groups.begin(), groups.end(), [](const auto& one, const auto& other) {
    return one.second.size() < other.second.size();
  });
  if (largest == groups.end() || largest->second.size() * 2 <= all.size()) {
    return {};
  }
  const bool has_stack = std::ranges::any_of(evidence, [&](const RankEvidence& one) {
    return largest->second.contains(one.rank) && !one.place.stack.empty();
  });
  for (const RankEvidence& one : evidence) {
    if (largest->second.contains(one.rank) || (has_stack && one.place.stack.empty())) {
      all.erase(one.rank);
    }
  }
  return all;
}

Verdict name(const std::vector<RankEvidence>& evidence, const Ranks& ranks) {
  std::size_t others = 0;  // that run
  std::size_t moving = 0;
  bool has_passed = false;  // a collective went through
  for (const RankEvidence& one : evidence) {
    const bool is_other = !ranks.contains(one.rank) && !has_ended(one.place);
    others += is_other ? 1 : 0;
    moving += is_other && one.is_moving ? 1 : 0;
    has_passed = has_passed || (is_other && one.is_moving && waits(one.place));
  }
  const bool is_moving =
      has_passed || moving * 2 > others || std::ranges::all_of(evidence, [&](const RankEvidence& one) {
        return !ranks.contains(one.rank) || one.is_moving || is_long_work(one.place.stack);
      });
  return {is_moving ? Finding::Moving : Finding::Named,
          {ranks.begin(), ranks.end()},
          most_common_wait(evidence),
          static_cast<int>(evidence.size() - ranks.size())};
}

/// Names the ranks that have not come to a collective, as far as the progress is known.
Verdict name_absent(const std::vector<RankEvidence>& evidence) {
  std::vector<RankProgress> progress;
  for (const RankEvidence& one : evidence) {
    if (!one.groups.empty()) {
      progress.push_back({one.rank, one.groups});
    }
  }
  Absent absent = find_absent(progress);
  if (absent.ranks.empty()) {
    return {};
  }
  Ranks ranks;
  for (const auto& [rank, last] : absent.ranks) {
    ranks.insert(rank);
  }
  Verdict verdict = name(evidence, ranks);
  verdict.wait = std::move(absent.collective);
  verdict.waiting = absent.waiting;
  verdict.entered = std::move(absent.ranks);
  return verdict;
}

/// "rank 9 (gpu-17, pid 4711) last entered collective 84924; it is at train.py:212 in load_shard"
std::string describe_one(const RankEvidence& one, const std::map<int, std::int64_t>& entered) {
  const bool has_pid = one.place.end.empty() && one.pid > 0;
  const std::string verb = !one.place.end.empty() ? " has ended: " : one.place.stack.empty() ? " is in " : " is at ";
  const auto last = entered.find(one.rank);
  return "rank " + std::to_string(one.rank) + " (" + one.host + (has_pid ? ", pid " + std::to_string(one.pid) : "") +
         ")" + (last == entered.end() ? "" : " last entered collective " + std::to_string(last->second) + "; it") +
         verb + describe(one.place);
}

std::string describe_waiting(const Verdict& verdict, const std::vector<RankEvidence>& evidence, int world_size) {
  const bool others_have_ended = std::ranges::all_of(evidence, [&](const RankEvidence& one) {
    return has_ended(one.place) || std::ranges::binary_search(verdict.ranks, one.rank);
  });
  const char* const what = others_have_ended      ? " ranks have ended, and not "
                           : verdict.wait.empty() ? " ranks are alike and not "
                                                  : " ranks wait in ";
  return std::to_string(verdict.waiting) + " of " + std::to_string(world_size) + what +
         (others_have_ended || verdict.wait.empty() ? "" : verdict.wait + " for ") + describe_ranks(verdict.ranks);
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
  const std::size_t all = evidence.size();
  const Ranks ended = ranks_where(evidence, has_ended);
  const Ranks alive = ranks_where(evidence, std::not_fn(has_ended));
  if (alive.empty()) {
    return {};
  }
  if (!ended.empty()) {
    return name(evidence, ended.size() <= alive.size() ? ended : alive);
  }
  if (Verdict absent = name_absent(evidence); !absent.ranks.empty()) {
    return absent;
  }
  for (const Ranks& ranks : {ranks_where(evidence, cannot_run), ranks_where(evidence, works)}) {
    if (ranks.size() < all && are_few(ranks.size(), all + 1)) {
      return name(evidence, ranks);
    }
  }
  if (const Ranks ranks = outliers(evidence); !ranks.empty()) {
    return name(evidence, ranks);
  }
  const bool are_alike = std::all_of(evidence.begin(), evidence.end(), [&](const RankEvidence& one) {
    return signature(one.place) == signature(evidence.front().place);
  });
  return {are_alike ? Finding::Alike : Finding::Unclear, {}, most_common_wait(evidence), static_cast<int>(all)};
}

bool may_go_on(const std::vector<RankEvidence>& evidence) {
  return std::ranges::any_of(evidence,
                             [](const RankEvidence& one) { return one.is_moving || is_long_work(one.place.stack); });
}

namespace {

std::vector<std::string> describe_ranks_in(const Verdict& verdict, const std::vector<RankEvidence>& evidence,
                                           int world_size) {
  constexpr std::size_t kMostNamed = 4;
  if (evidence.empty()) {
    return {};
  }
  if (verdict.finding == Finding::Alike) {
    const Place place = group(evidence).front().place;
    return {std::string("all ranks are ") + (place.stack.empty() ? "in " : "at ") + describe(place)};
  }
  if (verdict.finding == Finding::Unclear) {
    return {"its ranks are at " + std::to_string(group(evidence).size()) + " different places"};
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
