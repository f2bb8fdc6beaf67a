// Describes failures in sentences: why the first one is named, which others there were, and what they wrote last.
#include "report/failure_lines.hpp"

#include "base/text.hpp"
#include "supervise/first_failure.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace muster {
namespace {

std::string describe_first_failure(const Failure& failure, int attempt) {
  const std::string who = name_of_failed(failure);
  const std::string place = describe_node(failure.node, failure.host);
  if (!failure.service.empty()) {
    return who + " failed first: " + place + ", " + failure.start_error;
  }
  if (!failure.is_hung && !failure.status && !failure.start_error.empty()) {
    const std::string what = who + " could not be started, " + place;
    return failure.start_error.ends_with('?') ? what + ": " + failure.start_error : failure.start_error + ": " + what;
  }
  const std::string failed = failure.knows_order ? " failed first: " : " probably failed first: ";
  const std::string what = failure.is_early_exit ? " ended while others worked on: "
                           : failure.is_hung     ? " hung: "
                                                 : failed;
  const std::string rank = failure.is_unranked ? "" : ", local rank " + to_string(failure.local_rank);
  return who + what + place + rank + ", pid " + std::to_string(failure.pid) + ", " +
         (failure.status ? describe_status(failure) : "no exit code") +
         (failure.start_error.empty() ? "" : " (" + failure.start_error + ")") + ", after " +
         format_seconds(failure.run_time_seconds) + " s, attempt " + std::to_string(attempt);
}

/// The sentence before the names of other processes that may have failed first.
std::string describe_choice(const Failure& first) {
  if (first.was_asked) {
    return "it is named because it had written an error of its own before it was asked to end; these failed before it, "
           "but only because of a lost peer: ";
  }
  if (first.wrote_first) {
    return "it is named because it had written its error before the others wrote theirs; these failed so close to it "
           "that the order of their ends is not known: ";
  }
  return "it is named because " + std::string(describe(classify(first))) +
         "; these failed so close to it that their order is not known: ";
}

/// Adds why this failure was named first, and which others may have been the first.
void add_suspects(std::vector<ReportLine>& lines, const JobEnd& end) {
  const Failure& first = *end.first_failure;
  if (first.knows_order) {
    return;
  }
  const bool may_be_any = classify(first) == FailureKind::Traceback && !first.wrote_first && !first.was_asked;
  ProcessNames alike;
  ProcessNames others;
  std::string services;
  for (const Failure& other : end.also_failed.listed) {
    if (other.knows_order) {
      continue;
    }
    if (!other.service.empty()) {
      services += ", " + name_of_failed(other);
    } else {
      (may_be_any && classify(other) == FailureKind::Traceback ? alike : others).add(other);
    }
  }
  if (alike.size() > 0) {
    alike.add(first);
    lines.push_back(
        {Level::Error, alike.describe() + " each show an error of their own; which was first is not known"});
  }
  const bool lists_all = end.also_failed.count == static_cast<int>(end.also_failed.listed.size());
  std::string who = others.describe() + services + (lists_all ? "" : " and others");
  if (alike.size() == 0 || others.size() > 0) {
    lines.push_back({Level::Error, describe_choice(first) + who});
  }
}

/// Failures that look the same, in the order in which they are listed.
using AlikeFailures = std::vector<const Failure*>;

/// True if the two ended in the same way with the same last words, of which `other` may have kept fewer.
bool is_alike(const Failure& one, const Failure& other) {
  const auto& lines = one.last_lines;
  const auto& others = other.last_lines;
  const std::size_t compared = std::min(lines.size(), others.size());
  const auto is_same_line = [](const std::string& line, const std::string& kept) {
    return line == kept || shortened(line, OtherFailures::kLineBytes) == kept;
  };
  return one.service.empty() && other.service.empty() && one.status == other.status &&
         one.start_error == other.start_error && lines.empty() == others.empty() &&
         std::equal(lines.end() - static_cast<std::ptrdiff_t>(compared), lines.end(),
                    others.end() - static_cast<std::ptrdiff_t>(compared), is_same_line);
}

/// Groups the listed failures of which `is_wanted` is true.
std::vector<AlikeFailures> group_alike(const std::vector<Failure>& listed, const auto& is_wanted) {
  std::vector<AlikeFailures> groups;
  for (const Failure& failure : listed) {
    if (!is_wanted(failure)) {
      continue;
    }
    const auto known =
        std::ranges::find_if(groups, [&](const AlikeFailures& alike) { return is_alike(*alike.front(), failure); });
    if (known == groups.end()) {
      groups.push_back({&failure});
    } else {
      known->push_back(&failure);
    }
  }
  return groups;
}

/// "rank 3, node 1 (host-b)" or "ranks 3-5, nodes 0-1".
std::string describe_places(const AlikeFailures& alike) {
  const Failure& first = *alike.front();
  ProcessNames names;
  std::set<int> nodes;
  for (const Failure* const failure : alike) {
    names.add(*failure);
    nodes.insert(failure->node.value);
  }
  const std::string who = alike.size() == 1 ? name_of_failed(first) : names.describe();
  const std::string where = nodes.size() == 1
                                ? describe_node(first.node, first.host)
                                : "nodes " + describe_ranges(std::vector<int>(nodes.begin(), nodes.end()));
  return who + ", " + where;
}

/// True if the last lines of `other` are those of `first`, of which it may have kept fewer.
bool has_same_lines(const Failure& first, const Failure& other) {
  Failure compared = other;
  compared.status = first.status;
  return is_alike(first, compared);
}

/// Adds ranks that had written an error of their own when they were asked to end: the reason may stand there.
void add_asked(std::vector<ReportLine>& lines, const JobEnd& end) {
  constexpr std::size_t kShown = 3;
  const auto groups = group_alike(end.also_failed.listed, [](const Failure& other) { return other.was_asked; });
  for (const AlikeFailures& alike : std::span(groups).first(std::min(groups.size(), kShown))) {
    const bool is_one = alike.size() == 1;
    const std::string who = describe_places(alike) + (is_one ? ", which was" : ", which were") + " only asked to end, ";
    if (has_same_lines(*end.first_failure, *alike.front())) {
      lines.push_back({Level::Error, who + "had written the same before"});
      continue;
    }
    lines.push_back({Level::Error, who + "had written an error of " + (is_one ? "its" : "their") + " own before" +
                                       (is_one ? ":" : ", the same:")});
    for (const std::string& line : alike.front()->last_lines) {
      lines.push_back({Level::Error, "  | " + line});
    }
  }
}

/// "rank 3, node 1 (host-b), exit code 1, after 0.21 s", or of several without the time.
std::string describe_alike(const AlikeFailures& alike) {
  const Failure& first = *alike.front();
  const std::string time = alike.size() > 1 ? "" : ", after " + format_seconds(first.run_time_seconds) + " s";
  return describe_places(alike) + ", " + (first.status ? describe_status(first) + time : first.start_error);
}

}  // namespace

void add_failure(std::vector<ReportLine>& lines, const JobEnd& end) {
  const Failure& failure = *end.first_failure;
  const auto error = [&](std::string text) { lines.push_back({Level::Error, std::move(text)}); };
  error(describe_first_failure(failure, end.attempt));
  add_suspects(lines, end);
  if (!failure.error_message.empty()) {
    error("its error file says: " + failure.error_message);
  }
  if (!failure.last_lines.empty()) {
    error(failure.has_joined_streams ? "its last lines:" : "the last lines of its standard error:");
  }
  for (const std::string& line : failure.last_lines) {
    error("  | " + line);
  }
  add_asked(lines, end);
}

void add_other_failures(std::vector<ReportLine>& lines, const JobEnd& end) {
  constexpr std::size_t kShown = 3;
  OtherFailures others = end.also_failed;
  others.drop_asked();
  const auto groups = group_alike(others.listed, [](const Failure&) { return true; });
  int left = others.count;
  for (const AlikeFailures& alike : std::span(groups).first(std::min(groups.size(), kShown))) {
    const Failure& other = *alike.front();
    const bool is_like_first = end.first_failure && is_alike(*end.first_failure, other);
    lines.push_back({Level::Warning,
                     "also failed" + std::string(is_like_first ? " in the same way: " : ": ") + describe_alike(alike)});
    if (!is_like_first && !other.last_lines.empty()) {
      lines.push_back({Level::Warning, "  | " + other.last_lines.back()});
    }
    left -= static_cast<int>(alike.size());
  }
  if (left > 0) {
    lines.push_back({Level::Warning, "also failed: " + std::to_string(left) + " more"});
  }
}

}  // namespace muster
