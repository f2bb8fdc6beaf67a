#pragma once

// Names the ranks for which the others wait, from what all ranks are doing. Pure.

#include "hang/evidence.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace muster::hang {

enum class Finding {
  Named,      ///< `Verdict::ranks` stand still: the others wait for these few ranks, or have ended
  WaitedFor,  ///< `Verdict::ranks` work: the others wait for them
  Still,      ///< all wait for each other, and nothing moves: nobody is accused
  Idle,       ///< the ranks for which others may wait, wait themselves for a request, a child or input
  Moving,     ///< collectives go through, or ranks work for which nobody waits
  Unknown,    ///< too little could be read about `Verdict::ranks`
  Unclear     ///< the ranks are at many places, and it is not known who waits for whom
};

struct Verdict {
  Finding finding = Finding::Unclear;
  std::vector<int> ranks;  ///< sorted; those that the finding is about
  std::string wait;        ///< the operation in which the others wait, such as "all_reduce"; empty: not known
  int waiting = 0;         ///< number of ranks that wait, or that are at the place at which most are
  /// The last collectives of `ranks`, if these show that the others wait for them.
  std::map<int, std::int64_t> entered = {};
  bool operator==(const Verdict&) const = default;
};

/// Judges the evidence of all ranks, after `mark_moving`. An accusation needs evidence of both sides: that the others
/// wait for ranks in a known operation, or have ended, and that those who are named have not worked since the last
/// look. docs/hangs.md has the rules.
Verdict judge(const std::vector<RankEvidence>& evidence);

/// True of a rank that waits for others: by its stack, or because a collective that it has entered is not completed.
bool waits(const RankEvidence& one);

/// The verdict in sentences without full stops, a few of which name a single rank. The first follows "the job has not
/// moved for 60 s: ". `world_size` may be larger than the evidence, where nodes did not answer.
std::vector<std::string> describe(const Verdict& verdict, const Evidence& evidence, int world_size);

/// "the job waits for rank 0, which works: 98 % of a CPU, at evaluate.py:40 in run". For `WaitedFor`.
std::string describe_work(const Verdict& verdict, const std::vector<RankEvidence>& evidence);

}  // namespace muster::hang
