#pragma once

// Names the ranks for which the others wait, from what all ranks are doing. Pure.

#include "hang/evidence.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace muster::hang {

enum class Finding {
  Named,   ///< most ranks wait, and these few do not: `Verdict::ranks`
  Alike,   ///< all ranks are at the same place: nobody is accused
  Moving,  ///< the ranks for which the others wait do something
  Unclear  ///< the ranks are at many places, and none is known to wait
};

struct Verdict {
  Finding finding = Finding::Unclear;
  std::vector<int> ranks;                    ///< sorted; those named, or those that are moving
  std::string wait;                          ///< what the others wait in, such as "all_reduce"; empty: not known
  int waiting = 0;                           ///< ranks that wait, or that are at the place of most
  std::map<int, std::int64_t> entered = {};  ///< the last collectives of ranks that were named by it
  bool operator==(const Verdict&) const = default;
};

/// Judges the evidence of all ranks. Names ranks by the first rule that separates few from many: those that have
/// ended; those that have not come to a collective; those that the kernel cannot run; those that wait in no operation
/// with others while most do; those that are at another place than most.
[[nodiscard]] Verdict judge(const std::vector<RankEvidence>& evidence);

/// True if one of the ranks moves, or is in a compiler or the loop of a server, which say nothing for minutes.
[[nodiscard]] bool may_go_on(const std::vector<RankEvidence>& evidence);

/// The verdict in sentences without full stops, a few of which name a single rank. The first follows "the job has not
/// moved for 60 s: ". `world_size` may be larger than the evidence, where nodes did not answer.
[[nodiscard]] std::vector<std::string> describe(const Verdict& verdict, const Evidence& evidence, int world_size);

}  // namespace muster::hang
