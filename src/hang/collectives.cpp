// Compares the numbers of collectives within each process group.
#include "hang/collectives.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
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

/// Ranks that wait in no collective of any group.
std::set<int> find_idle(const std::vector<RankProgress>& progress) {
  std::set<int> idle;
  for (const RankProgress& one : progress) {
    if (std::ranges::none_of(one.groups, is_pending)) {
      idle.insert(one.rank);
    }
  }
  return idle;
}

/// The ranks among `idle` for which other members wait.
std::set<int> find_awaited(const Members& members, const std::set<int>& idle) {
  std::int64_t latest = -1;  // of the collectives in which somebody waits
  for (const auto& [rank, group] : members) {
    latest = is_pending(*group) ? std::max(latest, group->enqueued) : latest;
  }
  std::set<int> awaited;
  for (const auto& [rank, group] : members) {
    if (idle.contains(rank) && group->enqueued < latest) {
      awaited.insert(rank);
    }
  }
  return awaited;
}

/// The ranks with the fewest collectives, if these are at most half of the members.
std::set<int> find_last(const Members& members) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const auto& [rank, group] : members) {
    fewest = std::min(fewest, group->enqueued);
  }
  std::set<int> last;
  for (const auto& [rank, group] : members) {
    if (group->enqueued == fewest) {
      last.insert(rank);
    }
  }
  return last.size() * 2 <= members.size() ? last : std::set<int>();
}

/// The ranks with most votes, if the same groups voted for each of them.
std::set<int> find_elected(const Groups& groups) {
  std::map<int, std::vector<const Members*>> votes;
  for (const auto& [name, members] : groups) {
    for (const int rank : find_last(members)) {
      votes[rank].push_back(&members);
    }
  }
  std::size_t most = 0;
  for (const auto& [rank, of_rank] : votes) {
    most = std::max(most, of_rank.size());
  }
  std::set<int> elected;
  std::set<std::vector<const Members*>> voters;
  for (const auto& [rank, of_rank] : votes) {
    if (of_rank.size() == most) {
      elected.insert(rank);
      voters.insert(of_rank);
    }
  }
  return voters.size() == 1 ? elected : std::set<int>();
}

std::string describe(const GroupProgress& waiting, std::int64_t number) {
  const bool is_known = !waiting.operation.empty() && waiting.completed + 1 == number;
  return (is_known ? waiting.operation : "collective") + " " + std::to_string(number) + " of group '" +
         (waiting.description.empty() ? waiting.group : waiting.description) + "'";
}

/// The fewest collectives that a named rank of the group has entered; without one, more than any.
std::int64_t fewest_of(const Members& members, const std::set<int>& named) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const auto& [rank, group] : members) {
    fewest = named.contains(rank) ? std::min(fewest, group->enqueued) : fewest;
  }
  return fewest;
}

/// Counts the ranks that wait for a named one, and describes the collective in which most of them wait.
Absent describe_absent(const Groups& groups, const std::set<int>& named) {
  Absent absent;
  std::set<int> waiting;
  std::size_t most = 0;
  for (const auto& [name, members] : groups) {
    const std::int64_t fewest = fewest_of(members, named);
    Members ahead = members;
    std::erase_if(
        ahead, [&](const auto& member) { return member.second->enqueued <= fewest || named.contains(member.first); });
    for (const auto& [rank, group] : ahead.empty() ? Members() : members) {
      if (named.contains(rank)) {
        absent.ranks.emplace(rank, group->enqueued);
      }
    }
    std::ranges::transform(ahead, std::inserter(waiting, waiting.end()), &Members::value_type::first);
    if (ahead.size() > most) {
      most = ahead.size();
      absent.collective = describe(*ahead.begin()->second, fewest + 1);
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

Absent find_absent(const std::vector<RankProgress>& progress) {
  const Groups groups = join_groups(progress);
  const std::set<int> idle = find_idle(progress);
  std::set<int> named;
  for (const auto& [name, members] : groups) {
    named.merge(find_awaited(members, idle));
  }
  if (named.empty()) {
    named = find_elected(groups);
  }
  return named.empty() || named.size() * 2 > progress.size() ? Absent() : describe_absent(groups, named);
}

}  // namespace muster::hang
