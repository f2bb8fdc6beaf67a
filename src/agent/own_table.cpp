// When a table that was read counts.
#include "agent/own_table.hpp"

#include "base/text.hpp"
#include "base/log.hpp"
#include "rank_table/rewrite.hpp"
#include "exchange/exchanged_rank_table.hpp"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

/// Where nobody counts, what stands in the file is the newest.
bool is_newer(const rank_table::TableFile& file, const rank_table::TableFile& before) {
  return !file.version || !before.version || *file.version > *before.version;
}

/// A server can have one `pod_ip`.
void remark_shared_server(const rank_table::Table& table, std::size_t own) {
  const std::string& server = table.instances[own].server_id;
  const auto pods = static_cast<std::size_t>(
      std::count_if(table.instances.begin(), table.instances.end(), [&](const auto& instance) {
        return !server.empty() && instance.server_id == server;
      }));
  if (pods > 1) {
    log_info(
        count_of(pods, "pod") + " of the rank table share the server '" + server +
        "', which can have one pod_ip: MindSpore's scheduler finds the ranks of the first of them "
        "alone, and gives the others ranks that may not be those of the table");
  }
}

}  // namespace

Result<> RankTableExchange::take(rank_table::TableFile file, bool is_restart) {
  if (is_restart && now_ && !is_newer(file, now_->file)) {
    return {};
  }
  const auto own = find_local_instance(*input_, file);
  if (!own) {
    return own.error();
  }
  if (auto followed = follow_switches(file); !followed) {
    return followed;
  }
  if (needs_addresses()) {
    remark_shared_server(file.table, *own);
  }
  Known known{std::move(file), *own, {}, {}};
  if (has_news()) {
    for (const auto& device : local_devices(*input_, known.file, known.instance)) {
      known.ranks.push_back(device.rank);
    }
    known.summary = rank_table::summarise(rank_table::rewrite(known.file.text, known.file.table));
  }
  before_ = std::exchange(now_, std::move(known));
  return {};
}

Result<> RankTableExchange::follow_switches(rank_table::TableFile& file) const {
  const auto& network = input_->job.network;
  if (!network) {
    return {};
  }
  const auto order = rank_table::order_ring(file, network->value);
  if (!order) {
    return order.error();
  }
  file.table = rank_table::with_ranks(std::move(file.table), order->ranks);
  log_info("hops around the ring of all ranks by " + network->source.name + ": " +
           describe(*order));
  return {};
}

/// A node that is alone has nobody to compare with.
bool RankTableExchange::has_news() const {
  return input_->cluster.job.most_nodes > 1 || needs_addresses();
}

bool RankTableExchange::needs_addresses() const {
  const auto& inputs = input_->mode.mode.inputs;
  return std::any_of(inputs.begin(), inputs.end(), [](const InputTemplate& input) {
    return input.adds_pod_addresses;
  });
}

std::string RankTableExchange::contribution() const {
  if (input_ && input_->generated) {
    return write_server(*input_->generated, input_->snapshot.host_name);
  }
  if (!now_ || !has_news()) {
    return {};
  }
  PartOfTable part{now_->ranks, {}, now_->file.version, input_->cluster.job.most_nodes};
  if (needs_addresses()) {
    part.server_id = now_->file.table.instances[now_->instance].server_id;
  }
  return write_summary(now_->summary, part);
}

std::optional<rank_table::RankedNode> RankTableExchange::part(const Placement& placement,
                                                              const gang::Exchanged& merged,
                                                              const std::vector<int>& ranks) const {
  const auto at = merged.find(rank_table_key().name);
  if (input_ && input_->generated && at != merged.end()) {
    return part_of_made_table(*input_->generated, placement, at->second);
  }
  if (!now_) {
    return std::nullopt;
  }
  const Known* used = &*now_;
  rank_table::Changes changes;
  changes.ranks = ranks;
  if (at != merged.end()) {
    SameTable same = read_same_table(at->second).value();  // written by the same program
    changes.pod_addresses = std::move(same.pod_addresses);
    if (before_ && before_->summary.digest == same.digest) {
      used = &*before_;
      changes.ranks.clear();  // they are of the newer one
    }
  }
  const auto& file = used->file;
  return rank_table::RankedNode{file.table.size,
                                local_devices(*input_, file, used->instance, changes.ranks),
                                rank_table::rewrite(file.text, file.table, changes)};
}

}  // namespace muster
