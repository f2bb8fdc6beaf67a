#pragma once

// Names the ranks that have not come to a collective, by the numbers of the collectives in each process group. Pure.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace muster::hang {

/// Progress of a rank in one process group. Collectives of a group are counted from 1, alike on all of its ranks.
struct GroupProgress {
  std::string group;        ///< name, equal on all of its ranks; empty: its numbers cannot be compared
  std::string description;  ///< for people; may be empty
  std::vector<int> ranks;   ///< sorted, as far as known; groups of the same name have different first ranks
  std::int64_t enqueued = 0;
  std::int64_t completed = 0;  ///< -1: not known, as always with NCCL
  std::string operation;       ///< of the first collective that is not completed, "all_gather"; empty: not known
  bool operator==(const GroupProgress&) const = default;
};

/// Progress of a rank in each of its process groups.
struct RankProgress {
  int rank = 0;
  std::vector<GroupProgress> groups;
};

/// Limit of the ranks in all groups of one answer: each rank of a group has a list of all of the group's ranks.
inline constexpr std::size_t kMostNumbers = std::size_t{1} << 22U;

/// The values, sorted by rank.
std::vector<RankProgress> list_of(const std::map<int, RankProgress>& by_rank);

/// The ranks for which others wait.
struct Absent {
  std::map<int, std::int64_t>
      ranks;               ///< and the last collective that each has entered, -1: not known; empty: nobody is named
  std::string collective;  ///< that in which most of the others wait, such as "all_gather 84925 of group 'dp'"
  int waiting = 0;         ///< ranks that wait for them, in this or another group
  bool operator==(const Absent&) const = default;
};

/// Names ranks for which others wait, and that wait for nobody. A rank waits if it has entered a collective of a
/// group that is not completed, and others of the group have not entered it. `silent` ranks have told nothing: a rank
/// that waits in a group with a silent rank waits for the silent rank. More than half of the ranks are never named.
Absent find_absent(const std::vector<RankProgress>& progress, const std::set<int>& silent = {});

}  // namespace muster::hang
