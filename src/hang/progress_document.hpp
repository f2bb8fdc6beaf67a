#pragma once

// Writes the progress of ranks as JSON for the nodes of a job, and reads it. Pure.

#include "base/json.hpp"
#include "hang/collectives.hpp"

#include <cstddef>
#include <vector>

namespace muster::hang {

/// Objects of {group, description, ranks, at: [[enqueued, started, completed, operation, ranks], ...]}, of about
/// `most_bytes` together: groups whose ranks are alike are left out first. A group has the members that its first rank
/// tells.
json::array progress_document(const std::vector<RankProgress>& progress, std::size_t most_bytes);

/// Reads it, sorted by rank. What makes no sense, and what would take much memory, is left out: another version of
/// muster may have written it.
std::vector<RankProgress> read_progress(const json::array& document);

}  // namespace muster::hang
