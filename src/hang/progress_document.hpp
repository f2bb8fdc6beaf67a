#pragma once

// Writes the progress of ranks as JSON for the nodes of a job, and reads it. Pure.

#include "base/json.hpp"
#include "hang/collectives.hpp"

#include <cstddef>
#include <vector>

namespace muster::hang {

/// Writes objects of {group, description, ranks, at: [[enqueued, started, completed, operation, ranks], ...]}, of
/// about `most_bytes` together: groups whose ranks are alike are left out first. A group's members are those that its
/// first rank tells.
json::array progress_document(const std::vector<RankProgress>& progress, std::size_t most_bytes);

/// Reads the progress, sorted by rank. Leaves out what makes no sense or would take much memory: another version of
/// muster may have written it.
std::vector<RankProgress> read_progress(const json::array& document);

}  // namespace muster::hang
