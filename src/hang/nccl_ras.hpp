#pragma once

// Reads what NCCL's RAS subsystem tells of the communicators of a job, as JSON (NCCL 2.28.7). NCCL writes it in
// src/ras/client_support.cc, and describes it in its user guide (troubleshooting/ras). Pure.

#include "hang/collectives.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::hang {

/// A process, as NCCL names it.
struct RasProcess {
  std::string host;  ///< address of its host; empty: not known
  pid_t pid = -1;
  auto operator<=>(const RasProcess&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct RasRank {
  int rank = -1;  ///< in the communicator
  RasProcess process;
  std::int64_t launched = -1;  ///< collectives of all types; -1: not known
};

struct RasCommunicator {
  std::string id;
  int size = 0;
  std::vector<RasRank> ranks;
  std::vector<RasRank> missing;  ///< ranks whose processes do not answer, or have left the communicator
};

/// Reads the answer to VERBOSE STATUS; ignores lines before it. Leaves out what makes no sense, because the bytes
/// come from a program of the user.
std::vector<RasCommunicator> parse_ras(std::string_view answer);

/// Gives the number of collectives that each global rank has launched, as `enqueued`. The communicator of all
/// `world_size` ranks tells the global rank of each process. A missing rank is a member of its group without
/// progress. If more than 256 ranks of a group have the most common number, only the first 256 of them are given.
/// Groups that are still too large are left out.
std::vector<RankProgress> to_progress(const std::vector<RasCommunicator>& communicators, int world_size);

}  // namespace muster::hang
