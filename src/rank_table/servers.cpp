// The forms with `server_list`: 1.0, and 1.2 with super pods.
#include "rank_table/layout.hpp"

namespace muster::rank_table {

void lay_out_servers(json::object& root, Layout& layout, Breaches& breaches) {
  json::array* servers = list_in(root, "server_list", "server_list", breaches);
  if (servers == nullptr) {
    return;
  }
  layout.instances.reserve(servers->size());
  Place place;
  for (json::value& item : *servers) {
    place.instance += 1;
    if (json::object* server = item.if_object()) {
      layout.instances.push_back({server, place, {}});
      lay_out_devices(layout.instances.back(), "device", layout.form, breaches);
    } else {
      breaches.add(path_of(layout.form, place), &item, "an object", kInvalidTable);
    }
  }
}

}  // namespace muster::rank_table
