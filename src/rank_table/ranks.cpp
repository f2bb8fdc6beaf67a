// The form with `rank_list`, 2.0. It names no host: ranks that follow each other belong to one until a device's
// id comes again, or the network of the lowest layer is another.
#include "rank_table/layout.hpp"

#include <set>

namespace muster::rank_table {

std::string_view lowest_network(const json::object& rank) {
  const json::array* levels = array_of(rank, "level_list");
  const json::object* level =
      levels == nullptr || levels->empty() ? nullptr : levels->front().if_object();
  return level == nullptr ? std::string_view{} : text_of(*level, "net_instance_id");
}

void lay_out_ranks(json::object& root, Layout& layout, Breaches& breaches) {
  json::array* ranks = list_in(root, "rank_list", "rank_list", breaches);
  if (ranks == nullptr) {
    return;
  }
  Place place;
  std::string_view network;
  std::set<int> ids;
  for (json::value& item : *ranks) {
    place.instance += 1;
    json::object* rank = item.if_object();
    if (rank == nullptr) {
      breaches.add(path_of(layout.form, place), &item, "an object", kInvalidTable);
      continue;
    }
    const int id = number_of(rank->if_contains("device_id")).value_or(-1);
    if (layout.instances.empty() || network != lowest_network(*rank) || ids.count(id) > 0) {
      layout.instances.push_back({rank, place, {}});
      ids.clear();
    }
    network = lowest_network(*rank);
    ids.insert(id);
    layout.instances.back().devices.push_back({rank, rank, place});
  }
}

}  // namespace muster::rank_table
