// Compares the numbers of collectives within each process group.
#include "hang/collectives.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace muster::hang {
namespace {

using Members = std::map<int, const GroupProgress*>;
using Groups = std::map<std::pair<std::string, int>, Members>;

Groups join_groups(const std::vector<RankProgress>& progress) {
  Groups groups;
  for (const RankProgress& one : progress) {
    for (const GroupProgress& group : one.groups) {
      groups[{group.group, group.ranks.empty() ? -1 : group.ranks.front()}].emplace(one.rank, &group);
    }
  }
  std::erase_if(groups, [](const auto& group) { return group.first.first.empty(); });
  return groups;
}

bool is_pending(const GroupProgress& group) {
  return group.completed != group.enqueued;
}

/// The state of a rank that has told nothing.
const GroupProgress kSilent{"", "", {}, -1, -1, ""};

std::int64_t fewest_of(const Members& members) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const auto& [rank, group] : members) {
    fewest = std::min(fewest, group->enqueued);
  }
  return fewest;
}

/// The members that wait in a collective to which others have not come.
Members waiting_members(const Members& members) {
  const std::int64_t fewest = fewest_of(members);
  Members waiting;
  for (const auto& [rank, group] : members) {
    if (group->enqueued > fewest && is_pending(*group)) {
      waiting.emplace(rank, group);
    }
  }
  return waiting;
}

/// The ranks for which others wait, and that wait for nobody.
std::set<int> find_culprits(const Groups& groups) {
  std::set<int> waiting;
  std::set<int> awaited;
  std::set<int> may_wait;  // ranks of groups whose members are not known
  for (const auto& [name, members] : groups) {
    std::int64_t latest = std::numeric_limits<std::int64_t>::min();
    for (const auto& [rank, group] : waiting_members(members)) {
      waiting.insert(rank);
      latest = std::max(latest, group->enqueued);
    }
    for (const auto& [rank, group] : members) {
      if (group->enqueued < latest) {
        awaited.insert(rank);
      }
      if (is_pending(*group) && group->ranks.empty() && group != &kSilent) {
        may_wait.insert(rank);
      }
    }
  }
  std::set<int> culprits;
  std::ranges::set_difference(awaited, waiting, std::inserter(culprits, culprits.end()));
  std::set<int> sure;
  std::ranges::set_difference(culprits, may_wait, std::inserter(sure, sure.end()));
  return sure.empty() ? culprits : sure;
}

std::string describe(const GroupProgress& waiting, std::int64_t number) {
  const bool is_known = !waiting.operation.empty() && waiting.completed + 1 == number;
  return (is_known ? waiting.operation : "collective") + " " + std::to_string(number) + " of group '" +
         (waiting.description.empty() ? waiting.group : waiting.description) + "'";
}

/// Counts the ranks that wait for a named one, and describes the collective in which most of them wait.
Absent describe_absent(const Groups& groups, const std::set<int>& named) {
  Absent absent;
  std::set<int> waiting;
  std::size_t most = 0;
  for (const auto& [name, members] : groups) {
    Members ahead = waiting_members(members);
    std::erase_if(ahead, [&](const auto& member) { return named.contains(member.first); });
    const bool is_theirs =
        std::ranges::any_of(members, [&](const auto& member) { return named.contains(member.first); });
    if (ahead.empty() || !is_theirs) {
      continue;
    }
    for (const auto& [rank, group] : members) {
      if (named.contains(rank)) {
        absent.ranks.emplace(rank, group->enqueued);
      }
    }
    std::ranges::transform(ahead, std::inserter(waiting, waiting.end()), &Members::value_type::first);
    if (ahead.size() > most) {
      most = ahead.size();
      const GroupProgress& first = *ahead.begin()->second;
      absent.collective = describe(first, std::max(fewest_of(members), first.completed) + 1);
    }
  }
  absent.waiting = static_cast<int>(waiting.size());
  return absent;
}

}  // namespace

std::vector<RankProgress> list_of(const std::map<int, RankProgress>& by_rank) {
  std::vector<RankProgress> list;
  list.reserve(by_rank.size());
  for (const auto& [rank, progress] : by_rank) {
    list.push_back(progress);
  }
  return list;
}

Absent find_absent(const std::vector<RankProgress>& progress, const std::set<int>& silent) {
  Groups groups = join_groups(progress);
  // Adds the ranks that have told nothing to the groups in which others have them.
  for (auto& [name, members] : groups) {
    const std::vector<int>& ranks = members.begin()->second->ranks;
    std::vector<int> found;
    std::ranges::set_intersection(ranks, silent, std::back_inserter(found));
    for (const int rank : found) {
      members.emplace(rank, &kSilent);
    }
  }
  const std::set<int> named = find_culprits(groups);
  const bool are_few = !named.empty() && named.size() * 2 <= progress.size() + silent.size();
  return are_few ? describe_absent(groups, named) : Absent();
}

}  // namespace muster::hang
