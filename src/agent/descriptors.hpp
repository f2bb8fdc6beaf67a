#pragma once

// What a job needs of the limit of file descriptors, and what is left for strangers.

#include "base/result.hpp"
#include "agent/run.hpp"

#include <cstddef>

namespace muster {

/// Fails when the limit cannot hold the whole job: half of one would hold devices for nothing.
[[nodiscard]] Result<> check_descriptors(const JobPlan& job);

/// How many links a leader may keep. What the job needs, now or for another attempt, is in neither number.
struct LinkCapacity {
  std::size_t nodes = 0;      ///< with nodes of the job and spares: as many as it needs, at least
  std::size_t strangers = 0;  ///< with those who do not belong to the job
};
[[nodiscard]] LinkCapacity room_for_links(const JobPlan& job);

}  // namespace muster
