// The layers of the network of each rank, of form 2.0.
#include "rank_table/checks.hpp"

#include <set>

namespace muster::rank_table {
namespace {

constexpr int kMostLayer = 3;

void check_level(const Checked& table,
                 const std::string& path,
                 const json::value& item,
                 std::set<int>& layers) {
  const json::object* level = item.if_object();
  if (level == nullptr) {
    table.breaches.add(path, &item, "an object", kInvalidTable);
    return;
  }
  const json::value* value = level->if_contains("net_layer");
  const auto layer = number_of(value);
  if (!layer || *layer > kMostLayer || !layers.insert(*layer).second) {
    table.breaches.add(path + ".net_layer", value, "a layer from 0 to 3, each once", kInvalidTable);
  }
}

}  // namespace

void check_levels(const Checked& table) {
  if (table.layout.form != Form::Version2) {
    return;
  }
  for (const InstancePlace& instance : table.layout.instances) {
    for (const DevicePlace& rank : instance.devices) {
      const json::value* levels = rank.device->if_contains("level_list");
      const std::string path = path_of(table.layout.form, rank.place, "level_list");
      if (levels == nullptr) {
        continue;
      }
      if (!levels->is_array()) {
        table.breaches.add(path, levels, "a list", kInvalidTable);
        continue;
      }
      std::set<int> layers;
      for (std::size_t i = 0; i < levels->get_array().size(); ++i) {
        check_level(table, path + "[" + std::to_string(i) + "]", levels->get_array()[i], layers);
      }
    }
  }
}

}  // namespace muster::rank_table
