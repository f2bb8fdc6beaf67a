// Addresses and ports of devices.
#include "rank_table/check.hpp"

#include "base/endpoint.hpp"

#include <algorithm>
#include <unordered_map>

namespace muster::rank_table {
namespace {

constexpr int kMostPort = 65535;

/// Where an address has been met, by its bytes.
using Owners = std::unordered_map<std::string, const DevicePlace*>;

/// Calls back with each of the addresses, which commas divide; with an empty one behind a last comma.
template <typename Function>
void for_each_address(std::string_view list, const Function& function) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    function(list.substr(0, comma));
    if (comma + 1 == list.size()) {
      function(std::string_view{});
    }
    list.remove_prefix(std::min(comma, list.size() - 1) + 1);
  }
}

class AddressRules {
 public:
  explicit AddressRules(const Checked& table) : table_(table) {
    const bool is_one_super_pod = table.layout.form == Form::SuperPods && count_super_pods() <= 1;
    needs_addresses_ =
        table.rules.needs_addresses || (!is_one_super_pod && count_servers(table.layout) > 1);
  }

  void see(const InstancePlace& instance, const DevicePlace& device) {
    const json::value* value = device.device->if_contains("device_ip");
    const std::string_view list = text_of(*device.device, "device_ip");
    const bool has_host_address = !text_of(*instance.instance, "host_ip").empty();
    if (list.empty() && needs_addresses_ && !has_host_address) {
      add(device,
          "device_ip",
          value,
          table_.rules.needs_addresses ? "an address, as HCCL_INTRA_ROCE_ENABLE is 1"
                                       : "an address, as the table has several servers",
          kNewerCode);
    } else if (value != nullptr && !value->is_string()) {
      add(device, "device_ip", value, "an address of version 4 or 6 as text", kInvalidTable);
    } else {
      see_count(device, value, list);
    }
    see_each(device, "device_ip", list, owners_);
    see_each(
        device, "backup_device_ip", text_of(*device.device, "backup_device_ip"), backup_owners_);
    for (const std::string_view key :
         {"device_port", "device_vnic_port", "host_port", "backup_device_port"}) {
      see_port(device, key);
    }
  }

  /// Knows all owners, which `see` does not yet.
  void see_backup(const DevicePlace& device) {
    const std::string_view list = text_of(*device.device, "backup_device_ip");
    for_each_address(list, [&](std::string_view text) {
      const auto address = address_bytes(text);
      const auto owner = address ? owners_.find(*address) : owners_.end();
      if (owner == owners_.end()) {
        return;
      }
      const json::value* port = device.device->if_contains("backup_device_port");
      if (owner->second == &device) {
        add(device,
            "backup_device_ip",
            device.device->if_contains("backup_device_ip"),
            "an address of another device than its own",
            kLogOnly);
      } else if (number_of(port) &&
                 number_of(port) == number_of(owner->second->device->if_contains("device_port"))) {
        add(device,
            "backup_device_port",
            port,
            "another port than device_port of " +
                path_of(table_.layout.form, owner->second->place) + ", whose address it shares",
            kLogOnly);
      }
    });
  }

 private:
  [[nodiscard]] std::size_t count_super_pods() const {
    const json::array* pods = array_of(table_.root, "super_pod_list");
    return pods == nullptr ? 0 : pods->size();
  }

  void add(const DevicePlace& device,
           std::string_view key,
           const json::value* value,
           std::string_view expected,
           std::string_view code) {
    table_.breaches.add(path_of(table_.layout.form, device.place, key), value, expected, code);
  }

  /// All devices have as many addresses as the first.
  void see_count(const DevicePlace& device, const json::value* value, std::string_view list) {
    const std::ptrdiff_t count = list.empty() ? 0 : std::count(list.begin(), list.end(), ',') + 1;
    count_ = count_ < 0 ? count : count_;
    if (count != count_) {
      add(device,
          "device_ip",
          value,
          "as many addresses as the first device has, " + std::to_string(count_),
          kLogOnly);
    }
  }

  void see_each(const DevicePlace& device,
                std::string_view key,
                std::string_view list,
                Owners& owners) {
    const json::value* value = device.device->if_contains(key);
    for_each_address(list, [&](std::string_view text) {
      auto address = address_bytes(text);
      if (!address) {
        add(device, key, value, "an address of version 4 or 6", kInvalidTable);
        return;
      }
      const auto [owner, is_new] = owners.try_emplace(std::move(*address), &device);
      if (!is_new) {
        add(device,
            key,
            value,
            "an address that nobody else has; " +
                path_of(table_.layout.form, owner->second->place) + " has it",
            kInvalidTable);
      }
    });
  }

  void see_port(const DevicePlace& device, std::string_view key) {
    const json::value* value = device.device->if_contains(key);
    const int port = number_of(value).value_or(0);
    if (value != nullptr && (port < 1 || port > kMostPort)) {
      add(device, key, value, "a port from 1 to 65535", kLogOnly);
    }
  }

  const Checked& table_;
  bool needs_addresses_ = false;
  std::ptrdiff_t count_ = -1;  ///< of the first device; -1: none was seen
  Owners owners_;
  Owners backup_owners_;
};

}  // namespace

void check_addresses(const Checked& table) {
  if (table.layout.form == Form::Version2) {
    return;
  }
  AddressRules rules(table);
  for (const InstancePlace& instance : table.layout.instances) {
    for (const DevicePlace& device : instance.devices) {
      rules.see(instance, device);
    }
  }
  for_each_device(table.layout, [&rules](const DevicePlace& device) { rules.see_backup(device); });
}

}  // namespace muster::rank_table
