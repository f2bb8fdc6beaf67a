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
  Idle,       ///< the ranks that others may wait for wait themselves: for a request, a child or input
  Moving,     ///< collectives go through, or ranks work although nobody waits for them
  Unknown,    ///< too little could be read about `Verdict::ranks`
  Unclear     ///< the ranks are at many places, and it is not known who waits for whom
};

struct Verdict {
  Finding finding = Finding::Unclear;
  std::vector<int> ranks;  ///< ranks that the finding is about, sorted
  std::string wait;        ///< the operation in which the others wait, such as "all_reduce"; empty: not known
  int waiting = 0;         ///< number of ranks that wait, or that are at the place at which most are
  /// The last collectives that `ranks` have entered, if these numbers show that the others wait.
  std::map<int, std::int64_t> entered = {};
  bool operator==(const Verdict&) const = default;
};

/// Judges the evidence of all ranks, after `mark_moving`. Ranks are accused only if the others wait for ranks in a
/// known operation, or have ended, and if the accused have not worked since the last look. docs/hangs.md has the
/// rules.
Verdict judge(const std::vector<RankEvidence>& evidence);

/// True if a rank waits for others: its stack shows it, or it has entered a collective that is not completed.
bool waits(const RankEvidence& one);

/// Describes the verdict in sentences without full stops; some of them name one rank. The first one completes "the
/// job has not moved for 60 s: ". `world_size` may be larger than the evidence, if nodes did not answer.
std::vector<std::string> describe(const Verdict& verdict, const Evidence& evidence, int world_size);

/// Describes a verdict `WaitedFor`: "the job waits for rank 0, which works: 98 % of a CPU, at evaluate.py:40 in run".
std::string describe_work(const Verdict& verdict, const std::vector<RankEvidence>& evidence);

}  // namespace muster::hang
