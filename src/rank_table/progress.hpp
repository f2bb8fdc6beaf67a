#pragma once

// How far a table is whose writer has not completed it.

#include "base/json.hpp"
#include "rank_table/rank_table.hpp"

#include <optional>

namespace muster::rank_table {

/// By `status`; empty: it is completed, or has no status at all.
[[nodiscard]] std::optional<Unfinished> find_progress(const json::object& root);

}  // namespace muster::rank_table
