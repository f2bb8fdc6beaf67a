// When a table that was read counts.
#include "own_table.hpp"

#include <muster/service/exchanged_rank_table.hpp>

#include <algorithm>

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

/// A node that is alone has nobody to compare with.
std::string OwnTable::contribution() const {
  if (!input_) {
    return {};
  }
  if (input_->generated) {
    return write_server(*input_->generated, input_->snapshot.host_name);
  }
  if (!file_ || (input_->cluster.job.most_nodes == 1 && !needs_addresses())) {
    return {};
  }
  const std::string canonical = rank_table::rewrite(file_->text, file_->table);
  return write_summary(rank_table::summarise(file_->table, canonical),
                       needs_addresses() ? file_->table.instances[instance_].server_id : "");
}

bool OwnTable::needs_addresses() const {
  const auto& inputs = input_->mode.mode.inputs;
  return std::any_of(inputs.begin(), inputs.end(), [](const InputTemplate& input) {
    return input.adds_pod_addresses;
  });
}

std::optional<rank_table::RankedNode> OwnTable::part(const Placement& placement,
                                                     const gang::Exchanged& merged) const {
  const auto known = merged.find(rank_table_key().name);
  if (input_ && input_->generated && known != merged.end()) {
    return part_of_made_table(*input_->generated, placement, known->second);
  }
  if (!file_) {
    return std::nullopt;
  }
  rank_table::Changes changes;
  if (known != merged.end()) {  // written by the same program
    changes.pod_addresses = read_same_table(known->second).value().pod_addresses;
  }
  return rank_table::take_part(*file_, instance_, changes);
}

}  // namespace muster
