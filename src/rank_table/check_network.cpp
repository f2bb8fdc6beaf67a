// Checks the network part of a table: addresses and ports of devices, super pods, and names for switch files.
#include "base/endpoint.hpp"
#include "rank_table/check.hpp"
#include "rank_table/layout.hpp"
#include "rank_table/read.hpp"
#include "rank_table/topology.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace muster::rank_table {
namespace {

constexpr int kMostPort = 65535;

/// The device that has each address; the key is the address's bytes.
using Owners = std::unordered_map<std::string, const DevicePlace*>;

/// Calls `function` with each comma-separated address; after a final comma, with an empty one.
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
    needs_addresses_ = table.rules.needs_addresses || (!is_one_super_pod && count_servers(table.layout) > 1);
  }

  void see(const InstancePlace& instance, const DevicePlace& device) {
    const json::value* value = device.device->if_contains("device_ip");
    const std::string_view list = text_of(*device.device, "device_ip");
    const bool has_host_address = !text_of(*instance.instance, "host_ip").empty();
    if (list.empty() && needs_addresses_ && !has_host_address) {
      add(device, "device_ip", value,
          table_.rules.needs_addresses ? "an address, as HCCL_INTRA_ROCE_ENABLE is 1"
                                       : "an address, as the table has several servers",
          kNewerCode);
    } else if (value != nullptr && !value->is_string()) {
      add(device, "device_ip", value, "an address of version 4 or 6 as text", kInvalidTable);
    } else {
      see_count(device, value, list);
    }
    see_each(device, "device_ip", list, owners_);
    see_each(device, "backup_device_ip", text_of(*device.device, "backup_device_ip"), backup_owners_);
    for (const std::string_view key : {"device_port", "device_vnic_port", "host_port", "backup_device_port"}) {
      see_port(device, key);
    }
  }

  /// Checks a backup address. Needs the owners of all addresses, which `see` collects.
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
        add(device, "backup_device_ip", device.device->if_contains("backup_device_ip"),
            "an address of another device than its own", kLogOnly);
      } else if (number_of(port) && number_of(port) == number_of(owner->second->device->if_contains("device_port"))) {
        add(device, "backup_device_port", port,
            "another port than device_port of " + path_of(table_.layout.form, owner->second->place) +
                ", whose address it shares",
            kLogOnly);
      }
    });
  }

 private:
  [[nodiscard]] std::size_t count_super_pods() const {
    const json::array* pods = array_of(table_.root, "super_pod_list");
    return pods == nullptr ? 0 : pods->size();
  }

  void add(const DevicePlace& device, std::string_view key, const json::value* value, std::string_view expected,
           std::string_view code) {
    table_.breaches.add(path_of(table_.layout.form, device.place, key), value, expected, code);
  }

  /// Checks that all devices have as many addresses as the first.
  void see_count(const DevicePlace& device, const json::value* value, std::string_view list) {
    const std::ptrdiff_t count = list.empty() ? 0 : std::count(list.begin(), list.end(), ',') + 1;
    count_ = count_ < 0 ? count : count_;
    if (count != count_) {
      add(device, "device_ip", value, "as many addresses as the first device has, " + std::to_string(count_), kLogOnly);
    }
  }

  void see_each(const DevicePlace& device, std::string_view key, std::string_view list, Owners& owners) {
    const json::value* value = device.device->if_contains(key);
    for_each_address(list, [&](std::string_view text) {
      auto address = address_bytes(text);
      if (!address) {
        add(device, key, value, "an address of version 4 or 6", kInvalidTable);
        return;
      }
      const auto [owner, is_new] = owners.try_emplace(std::move(*address), &device);
      if (!is_new) {
        add(device, key, value,
            "an address that nobody else has; " + path_of(table_.layout.form, owner->second->place) + " has it",
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
  std::ptrdiff_t count_ = -1;  ///< of the first device; -1: none yet
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

// Super pods of form 1.2 and their servers.

namespace {

std::string pod_path(std::size_t pod, std::string_view field) {
  return "super_pod_list[" + std::to_string(pod) + "]." + std::string(field);
}

/// A number of 32 bits, as digits; empty: invalid.
std::string device_number(const json::object& device) {
  const std::string digits = plain_text(device, "super_device_id");
  const bool is_number =
      digits.size() <= 10 && !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
  return is_number && std::stoull(digits) <= std::numeric_limits<std::uint32_t>::max()
             ? std::to_string(std::stoull(digits))
             : "";
}

class SuperPodRules {
 public:
  explicit SuperPodRules(const Checked& table) : table_(table) {
    for (const InstancePlace& instance : table.layout.instances) {
      servers_.insert(server_of(instance));
    }
  }

  void see(std::size_t index, const json::object& pod) {
    const std::string id = plain_text(pod, "super_pod_id");
    const json::value* value = pod.if_contains("super_pod_id");
    if (id.empty()) {
      table_.breaches.add(pod_path(index, "super_pod_id"), value, "a name", kNewerCode);
    } else if (!ids_.insert(id).second) {
      table_.breaches.add(pod_path(index, "super_pod_id"), value, "a name that no other super pod has", kNewerCode);
    }
    const json::array* list = array_of(pod, "server_list");
    if (list == nullptr) {
      table_.breaches.add(pod_path(index, "server_list"), pod.if_contains("server_list"), "a list", kNewerCode);
      return;
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      see_server(index, pod_path(index, "server_list[" + std::to_string(i) + "]"), (*list)[i]);
    }
  }

  /// Checks that every server is in one super pod, and that each of its devices has an id there.
  void see_devices(const InstancePlace& instance) {
    const auto pod = pod_of_server_.find(server_of(instance));
    if (pod == pod_of_server_.end()) {
      table_.breaches.add(path_of(table_.layout.form, instance.place, "server_id"),
                          instance.instance->if_contains("server_id"), "a server that super_pod_list has, too",
                          kNewerCode);
      return;
    }
    for (const DevicePlace& device : instance.devices) {
      see_device(device, pod->second);
    }
  }

 private:
  void see_server(std::size_t pod, const std::string& path, const json::value& item) {
    const json::object* server = item.if_object();
    const std::string_view id = server == nullptr ? "" : text_of(*server, "server_id");
    const json::value* value = server == nullptr ? &item : server->if_contains("server_id");
    if (servers_.count(id) == 0) {
      table_.breaches.add(path + ".server_id", value, "a server that server_list has", kNewerCode);
    } else if (!pod_of_server_.try_emplace(id, pod).second) {
      table_.breaches.add(path + ".server_id", value, "a server of no other super pod", kNewerCode);
    }
  }

  void see_device(const DevicePlace& device, std::size_t pod) {
    const json::value* value = device.device->if_contains("super_device_id");
    const std::string id = device_number(*device.device);
    const std::string path = path_of(table_.layout.form, device.place, "super_device_id");
    if (id.empty()) {
      table_.breaches.add(path, value,
                          value == nullptr ? "the device's number in its super pod"
                                           : "the device's number in its super pod, of 32 bits",
                          kNewerCode);
    } else if (!seen_.insert({pod, id}).second) {
      table_.breaches.add(path, value, "a number that no other device of the super pod has", kNewerCode);
    }
  }

  const Checked& table_;
  std::set<std::string_view> servers_;
  std::set<std::string> ids_;
  std::map<std::string_view, std::size_t> pod_of_server_;
  std::set<std::pair<std::size_t, std::string>> seen_;
};

}  // namespace

void check_super_pods(const Checked& table) {
  const json::value* pods = table.root.if_contains("super_pod_list");
  if (table.layout.form != Form::SuperPods) {
    return;
  }
  if (pods == nullptr) {
    table.breaches.add("super_pod_list", pods, "the servers of each super pod", kNewerCode);
    return;
  }
  if (!pods->is_array()) {
    table.breaches.add("super_pod_list", pods, "a list", kNewerCode);
    return;
  }
  SuperPodRules rules(table);
  for (std::size_t i = 0; i < pods->get_array().size(); ++i) {
    const json::value& item = pods->get_array()[i];
    if (item.is_object()) {
      rules.see(i, item.get_object());
    } else {
      table.breaches.add("super_pod_list[" + std::to_string(i) + "]", &item, "an object", kNewerCode);
    }
  }
  for (const InstancePlace& instance : table.layout.instances) {
    rules.see_devices(instance);
  }
}

// Names under which a switch file may have the nodes of form 2.0, which has no host names: the network of the lowest
// layer, and the addresses of the devices. They are read from the text, since no other code needs them.

namespace {

void add_name(std::vector<std::string>& names, std::string_view name) {
  if (!name.empty()) {
    names.emplace_back(name);
  }
}

void add_addresses(std::vector<std::string>& names, const json::object& rank) {
  for_each_object(array_of(rank, "level_list"), [&](const json::object& level) {
    for_each_object(array_of(level, "rank_addr_list"),
                    [&](const json::object& address) { add_name(names, text_of(address, "addr")); });
  });
}

std::vector<std::string> names_of(const InstancePlace& place) {
  std::vector<std::string> names;
  add_name(names, lowest_network(*place.instance));
  for (const DevicePlace& device : place.devices) {
    add_addresses(names, *device.device);
  }
  return names;
}

/// Separates the instances as `read` does.
Table with_network_names(Table table, std::string_view text) {
  Memory memory;
  json::object root = parse_again(text, memory);
  Breaches ignored(0);
  const Layout layout = lay_out(root, ignored);
  for (std::size_t i = 0; i < layout.instances.size() && i < table.instances.size(); ++i) {
    table.instances[i].addresses = names_of(layout.instances[i]);
  }
  return table;
}

}  // namespace

Result<RingOrder> order_ring(const TableFile& file, const NetworkFile& network) {
  return file.table.form == Form::Version2
             ? order_ring(with_network_names(file.table, file.text), network.switches, network.path)
             : order_ring(file.table, network.switches, network.path);
}

}  // namespace muster::rank_table
