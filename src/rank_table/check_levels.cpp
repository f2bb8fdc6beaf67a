// The layers of the network of each rank, of form 2.0.
#include "rank_table/check.hpp"

#include <array>
#include <utility>

namespace muster::rank_table {
namespace {

constexpr int kMostLayer = 3;

/// Paths are made when something is wrong: large tables have hundreds of thousands of levels.
std::string level_path(const Checked& table, const DevicePlace& rank, std::size_t level) {
  return path_of(table.layout.form, rank.place, "level_list") + "[" + std::to_string(level) + "]";
}

void check_each(const Checked& table, const DevicePlace& rank, const json::array& levels) {
  std::array<bool, kMostLayer + 1> layers{};
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const json::object* level = levels[i].if_object();
    if (level == nullptr) {
      table.breaches.add(level_path(table, rank, i), &levels[i], "an object", kInvalidTable);
      continue;
    }
    const json::value* value = level->if_contains("net_layer");
    const auto layer = number_of(value);
    if (!layer || *layer > kMostLayer ||
        std::exchange(layers.at(static_cast<std::size_t>(*layer)), true)) {
      table.breaches.add(level_path(table, rank, i) + ".net_layer",
                         value,
                         "a layer from 0 to 3, each once",
                         kInvalidTable);
    }
  }
}

void check_rank(const Checked& table, const DevicePlace& rank) {
  const json::value* levels = rank.device->if_contains("level_list");
  if (levels != nullptr && levels->is_array()) {
    check_each(table, rank, levels->get_array());
  } else if (levels != nullptr) {
    table.breaches.add(
        path_of(table.layout.form, rank.place, "level_list"), levels, "a list", kInvalidTable);
  }
}

}  // namespace

void check_levels(const Checked& table) {
  if (table.layout.form != Form::Version2) {
    return;
  }
  for_each_device(table.layout, [&table](const DevicePlace& rank) { check_rank(table, rank); });
}

}  // namespace muster::rank_table
