#pragma once

// Describes how far ranks have come in the collectives of their groups.

#include <cstdint>
#include <string>
#include <vector>

namespace muster::hang {

/// The progress of one rank in one group. Counts are -1 where they are not known.
struct GroupProgress {
  std::string group;        ///< identifies the group within the job
  std::string description;  ///< for people
  std::vector<int> ranks;   ///< global ranks of its members, sorted
  std::int64_t enqueued = -1;
  std::int64_t started = -1;
  std::int64_t completed = -1;
  std::string operation;  ///< the last one; empty: not known
};

struct RankProgress {
  int rank = 0;  ///< global
  std::vector<GroupProgress> groups;
};

}  // namespace muster::hang
