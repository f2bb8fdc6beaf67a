// Ranks from 0 without a gap, and devices that exist once.
#include "rank_table/check.hpp"

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace muster::rank_table {
namespace {

/// Ids of devices that one server can have; of the first Ascend 910, which `chip_info` names.
constexpr int kMostId = 15;
constexpr int kMostIdOfFirst = 7;

std::string at(const Checked& table, const DevicePlace& device) {
  return path_of(table.layout.form, device.place);
}

std::string rank_path(const Checked& table, const DevicePlace& device) {
  Place place = device.place;
  place.device = device.ranked == device.device ? place.device : -1;
  return path_of(table.layout.form, place, "rank_id");
}

/// Each rank below the number of devices, once.
class RankRule {
 public:
  RankRule(const Checked& table, std::size_t size) : table_(table), seen_(size) {}

  void see(const DevicePlace& device) {
    if (table_.layout.form == Form::Groups || device.ranked == without_) {
      return;  // there they are counted; an instance is named once
    }
    const json::value* value = device.ranked->if_contains("rank_id");
    const auto rank = number_of(value);
    const auto add = [&](const std::string& expected) {
      table_.breaches.add(rank_path(table_, device), value, expected, kInvalidTable);
    };
    if (!rank) {
      add("a number from 0");
      without_ = device.ranked;
    } else if (static_cast<std::size_t>(*rank) >= seen_.size()) {
      add("a rank below " + std::to_string(seen_.size()) +
          ", as there are so many devices, and each rank from 0 once");
    } else if (const DevicePlace*& first = seen_[static_cast<std::size_t>(*rank)];
               first != nullptr) {
      add("a rank that no other device has; " + at(table_, *first) + " has it");
    } else {
      first = &device;
    }
  }

 private:
  const Checked& table_;
  std::vector<const DevicePlace*> seen_;
  const json::object* without_ = nullptr;  ///< what was said to have no rank
};

/// In v0.1 nothing has a rank. The first that has one is named.
void check_uncounted(const Checked& table) {
  bool is_found = false;
  const auto look_at = [&](const json::object& object, const Place& place) {
    const json::value* rank = object.if_contains("rank_id");
    if (rank != nullptr && !std::exchange(is_found, true)) {
      table.breaches.add(path_of(table.layout.form, place, "rank_id"),
                         rank,
                         "no rank, as most devices have none and ranks go by pod_name");
    }
  };
  for (const InstancePlace& instance : table.layout.instances) {
    look_at(*instance.instance, instance.place);
  }
  for_each_device(table.layout,
                  [&look_at](const DevicePlace& device) { look_at(*device.device, device.place); });
}

/// Each device of a server once, also where several pods share the server.
class IdRule {
 public:
  IdRule(const Checked& table, std::size_t size) : table_(table) {
    seen_.reserve(size);
    most_ = text_of(table.root, "chip_info") == "910" ? kMostIdOfFirst : kMostId;
  }

  void start(const InstancePlace& instance) {
    const bool has_host = table_.layout.form != Form::Version2;
    const auto next = static_cast<std::uint64_t>(servers_.size());
    server_ =
        has_host ? servers_.try_emplace(server_of(instance), next).first->second : server_ + 1;
  }

  void see(const DevicePlace& device) {
    const json::value* value = device.device->if_contains("device_id");
    const auto id = number_of(value);
    const auto add = [&](const std::string& expected) {
      table_.breaches.add(
          path_of(table_.layout.form, device.place, "device_id"), value, expected, kLogOnly);
    };
    if (!id) {
      add("a number from 0");
    } else if (*id > most_ && table_.layout.form != Form::Version2) {
      add("a device from 0 to " + std::to_string(most_));
    } else if (const auto [first, is_new] =
                   seen_.try_emplace((server_ << 32U) | static_cast<std::uint64_t>(*id), &device);
               !is_new) {
      add("a device that nobody else has on this server; " + at(table_, *first->second) +
          " has it");
    }
  }

 private:
  const Checked& table_;
  int most_ = kMostId;
  std::uint64_t server_ = 0;
  std::map<std::string_view, std::uint64_t> servers_;
  std::unordered_map<std::uint64_t, const DevicePlace*> seen_;
};

}  // namespace

void check_ranks(const Checked& table) {
  std::size_t size = 0;
  for (const InstancePlace& instance : table.layout.instances) {
    size += instance.devices.size();
  }
  if (table.layout.form == Form::Groups) {
    check_uncounted(table);
  }
  RankRule ranks(table, size);
  IdRule ids(table, size);
  for (const InstancePlace& instance : table.layout.instances) {
    ids.start(instance);
    for (const DevicePlace& device : instance.devices) {
      ranks.see(device);
      ids.see(device);
    }
  }
}

}  // namespace muster::rank_table
