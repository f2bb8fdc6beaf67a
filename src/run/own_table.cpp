// When a table that was read counts.
#include "own_table.hpp"

namespace muster {
namespace {

/// Where nobody counts, what stands in the file is the newest.
bool is_newer(const rank_table::TableFile& file, const rank_table::TableFile& before) {
  return !file.version || !before.version || *file.version > *before.version;
}

}  // namespace

Result<> OwnTable::take(rank_table::TableFile file, bool is_restart) {
  if (is_restart && file_ && !is_newer(file, *file_)) {
    return {};
  }
  const auto own = find_own_instance(*input_, file);
  if (!own) {
    return own.error();
  }
  instance_ = *own;
  file_ = std::move(file);
  return {};
}

std::optional<rank_table::RankedNode> OwnTable::part() const {
  return file_ ? std::optional(rank_table::take_part(*file_, instance_)) : std::nullopt;
}

}  // namespace muster
