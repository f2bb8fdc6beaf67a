// When a table that was read counts.
#include "own_table.hpp"

#include <muster/logs/messages.hpp>
#include <muster/service/exchanged_rank_table.hpp>

#include <algorithm>
#include <utility>

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
  if (auto followed = follow_switches(file); !followed) {
    return followed;
  }
  instance_ = *own;
  file_ = std::move(file);
  return {};
}

Result<> OwnTable::follow_switches(rank_table::TableFile& file) const {
  const auto& network = input_->job.network;
  if (!network) {
    return {};
  }
  const auto order =
      rank_table::order_ring(file.table, network->value.switches, network->value.path);
  if (!order) {
    return order.error();
  }
  file.table = rank_table::with_ranks(std::move(file.table), order->ranks);
  say_info("hops around the ring of all ranks by " + network->source.name + ": " +
           describe(*order));
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
                                                     const gang::Exchanged& merged,
                                                     const std::vector<int>& ranks) const {
  const auto known = merged.find(rank_table_key().name);
  if (input_ && input_->generated && known != merged.end()) {
    return part_of_made_table(*input_->generated, placement, known->second);
  }
  if (!file_) {
    return std::nullopt;
  }
  rank_table::Changes changes;
  changes.ranks = ranks;
  if (known != merged.end()) {  // written by the same program
    changes.pod_addresses = read_same_table(known->second).value().pod_addresses;
  }
  return rank_table::take_part(*file_, instance_, changes);
}

}  // namespace muster
