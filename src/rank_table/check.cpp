// Checks a table by HCCL's rules: counts, layers, ranks, ids and names.
#include "rank_table/check.hpp"

#include "base/endpoint.hpp"

#include <array>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace muster::rank_table {

void check_all(const Checked& table) {
  check_counts(table);
  check_servers(table);
  check_ranks(table);
  check_addresses(table);
  check_super_pods(table);
  check_levels(table);
}

Rules find_rules(const Snapshot& snapshot) {
  const auto roce = snapshot.variables.find("HCCL_INTRA_ROCE_ENABLE");
  Rules rules;
  rules.needs_addresses = roce != snapshot.variables.end() && roce->second == "1";
  return rules;
}

std::vector<Breach> check(std::string_view text, const Rules& rules) {
  return inspect(text, "", rules).breaches;
}

std::string_view server_of(const InstancePlace& instance) {
  return text_of(*instance.instance, "server_id");
}

std::size_t count_servers(const Layout& layout) {
  std::set<std::string_view> ids;
  for (const InstancePlace& instance : layout.instances) {
    ids.insert(server_of(instance));
  }
  return ids.size();
}

// Compares counts with their lists, and requires non-empty lists.

namespace {

void check_version(const Checked& table, std::initializer_list<std::string_view> known) {
  const json::value* version = table.root.if_contains("version");
  std::string expected;
  for (const std::string_view name : known) {
    const bool is_number = version != nullptr && version->is_double() &&
                           std::abs(version->get_double() - (name.back() - '0') / 10.0 - (name.front() - '0')) < 0.001;
    if (version == nullptr || is_number || text_of(table.root, "version") == name) {
      return;
    }
    expected += (expected.empty() ? "\"" : " or \"") + std::string(name) + "\"";
  }
  table.breaches.add("version", version, expected, kInvalidTable);
}

/// Checks that a count is missing or equals the size of its list.
void check_count(const Checked& table, const json::object& object, std::string path, std::size_t actual) {
  const std::string_view key = std::string_view(path).substr(path.rfind('.') + 1);
  const json::value* count = object.if_contains(key);
  if (count != nullptr && number_of(count) != static_cast<int>(actual)) {
    const std::string expected = std::to_string(actual) + ", as many as are listed";
    table.breaches.add(std::move(path), count, expected, kInvalidTable);
  }
}

void check_not_empty(const Checked& table, std::string_view key) {
  if (const json::array* list = array_of(table.root, key); list != nullptr && list->empty()) {
    table.breaches.add(std::string(key), &table.root.at(key), "at least one entry", kInvalidTable);
  }
}

struct GroupSize {
  std::size_t devices = 0;
  std::set<std::string_view> servers;
};

GroupSize size_of(const json::array& instances) {
  GroupSize size;
  for (const json::value& item : instances) {
    if (const json::object* instance = item.if_object()) {
      const json::array* devices = array_of(*instance, "devices");
      size.devices += devices == nullptr ? 0 : devices->size();
      size.servers.insert(text_of(*instance, "server_id"));
    }
  }
  return size;
}

/// Checks for powers of two, which HCCL's first parser, and the chip that it is for, require.
void check_devices_per_server(const Checked& table, const std::string& path, const GroupSize& size) {
  const std::size_t servers = size.servers.size();
  for (const std::size_t each : {1U, 2U, 4U, 8U, 16U}) {
    if (servers == 0 || size.devices == each * servers) {
      return;
    }
  }
  const json::value count(size.devices);
  table.breaches.add(path, &count, "1, 2, 4, 8 or 16 devices for each server", "EI0004");
}

void check_groups(const Checked& table) {
  check_not_empty(table, "group_list");
  if (table.layout.instances.empty() && table.breaches.found().empty()) {
    table.breaches.add("group_list", &table.root.at("group_list"), "at least one device", kInvalidTable);
  }
  const json::array& groups = *array_of(table.root, "group_list");
  check_count(table, table.root, "group_count", groups.size());
  Place place;
  for (const json::value& item : groups) {
    place.group += 1;
    const json::object* group = item.if_object();
    const json::array* instances = group == nullptr ? nullptr : array_of(*group, "instance_list");
    if (instances == nullptr) {
      continue;
    }
    const GroupSize size = size_of(*instances);
    const std::string path = path_of(table.layout.form, place) + ".";
    check_count(table, *group, path + "instance_count", instances->size());
    check_count(table, *group, path + "device_count", size.devices);
    if (table.layout.form == Form::Standard) {
      check_count(table, *group, path + "device_num", size.devices);
      check_count(table, *group, path + "server_num", size.servers.size());
      check_devices_per_server(table, path + "instance_list", size);
    }
  }
}

/// Reports an instance without devices where devices are required.
void check_devices_listed(const Checked& table, std::string_view key) {
  for (const InstancePlace& instance : table.layout.instances) {
    const json::value* list = instance.instance->if_contains(key);
    if (list != nullptr && list->is_array() && list->get_array().empty()) {
      table.breaches.add(path_of(table.layout.form, instance.place, key), list, "at least one device", kInvalidTable);
    }
  }
}

/// Reports lists of another form: HCCL chooses the list by `version`, and would read another one than muster.
void check_one_list(const Checked& table) {
  std::string_view first;
  for (const std::string_view key : {"server_list", "rank_list", "group_list"}) {
    const json::value* list = table.root.if_contains(key);
    if (list != nullptr && !first.empty()) {
      table.breaches.add(std::string(key), list, "no such list beside " + std::string(first), kInvalidTable);
    }
    first = list != nullptr && first.empty() ? key : first;
  }
}

}  // namespace

void check_counts(const Checked& table) {
  check_one_list(table);
  switch (table.layout.form) {
    case Form::Groups:
    case Form::Standard:
      if (array_of(table.root, "group_list") != nullptr) {
        check_groups(table);
      }
      check_devices_listed(table, "devices");
      break;
    case Form::Version1:
    case Form::SuperPods:
      check_version(table, {"1.0", "1.2"});
      check_not_empty(table, "server_list");
      if (const json::array* servers = array_of(table.root, "server_list")) {
        check_count(table, table.root, "server_count", servers->size());
      }
      check_devices_listed(table, "device");
      break;
    case Form::Version2:
      check_version(table, {"2.0"});
      check_not_empty(table, "rank_list");
      if (const json::array* ranks = array_of(table.root, "rank_list")) {
        check_count(table, table.root, "rank_count", ranks->size());
      }
      break;
  }
}

// Network layers of each rank, in form 2.0.

namespace {

constexpr int kMostLayer = 3;

/// Called only for breaches: large tables have hundreds of thousands of levels.
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
    if (!layer || *layer > kMostLayer || std::exchange(layers.at(static_cast<std::size_t>(*layer)), true)) {
      table.breaches.add(level_path(table, rank, i) + ".net_layer", value, "a layer from 0 to 3, each once",
                         kInvalidTable);
    }
  }
}

void check_rank(const Checked& table, const DevicePlace& rank) {
  const json::value* levels = rank.device->if_contains("level_list");
  if (levels != nullptr && levels->is_array()) {
    check_each(table, rank, levels->get_array());
  } else if (levels != nullptr) {
    table.breaches.add(path_of(table.layout.form, rank.place, "level_list"), levels, "a list", kInvalidTable);
  }
}

}  // namespace

void check_levels(const Checked& table) {
  if (table.layout.form != Form::Version2) {
    return;
  }
  for_each_device(table.layout, [&table](const DevicePlace& rank) { check_rank(table, rank); });
}

// Ranks run from 0 without a gap, and devices are unique.

namespace {

/// Highest device id of a server; for the first Ascend 910, which `chip_info` names.
constexpr int kMostId = 15;
constexpr int kMostIdOfFirst = 7;

std::string at(const Checked& table, const DevicePlace& device) {
  return path_of(table.layout.form, device.place);
}

/// Checks that each rank is below the number of devices, and unique.
class RankRule {
 public:
  RankRule(const Checked& table, std::size_t size) : table_(table), seen_(size) {}

  void see(const DevicePlace& device) {
    if (table_.layout.form == Form::Groups || device.ranked == without_) {
      return;  // form without ranks: devices are counted
    }
    const json::value* value = device.ranked->if_contains("rank_id");
    const auto rank = number_of(value);
    const auto add = [&](const std::string& expected) {
      table_.breaches.add(path_of(table_.layout.form, place_of_rank(device), "rank_id"), value, expected,
                          kInvalidTable);
    };
    if (!rank) {
      add("a number from 0");
      without_ = device.ranked;
    } else if (static_cast<std::size_t>(*rank) >= seen_.size()) {
      add("a rank below " + std::to_string(seen_.size()) + ", as there are so many devices, and each rank from 0 once");
    } else if (const DevicePlace*& first = seen_[static_cast<std::size_t>(*rank)]; first != nullptr) {
      add("a rank that no other device has; " + at(table_, *first) + " has it");
    } else {
      first = &device;
    }
  }

 private:
  const Checked& table_;
  std::vector<const DevicePlace*> seen_;
  const json::object* without_ = nullptr;  ///< the first object without a rank that was reported
};

/// Reports the first rank in a table of v0.1, which has no ranks.
void check_uncounted(const Checked& table) {
  bool is_found = false;
  const auto look_at = [&](const json::object& object, const Place& place) {
    const json::value* rank = object.if_contains("rank_id");
    if (rank != nullptr && !std::exchange(is_found, true)) {
      table.breaches.add(path_of(table.layout.form, place, "rank_id"), rank,
                         "no rank, as most devices have none and ranks go by pod_name");
    }
  };
  for (const InstancePlace& instance : table.layout.instances) {
    look_at(*instance.instance, instance.place);
  }
  for_each_device(table.layout, [&look_at](const DevicePlace& device) { look_at(*device.device, device.place); });
}

/// Checks that each device of a server is listed once, also where several pods share the server.
class IdRule {
 public:
  IdRule(const Checked& table, std::size_t size) : table_(table) {
    seen_.reserve(size);
    most_ = text_of(table.root, "chip_info") == "910" ? kMostIdOfFirst : kMostId;
  }

  void start(const InstancePlace& instance) {
    const bool has_host = table_.layout.form != Form::Version2;
    const auto next = static_cast<std::uint64_t>(servers_.size());
    server_ = has_host ? servers_.try_emplace(server_of(instance), next).first->second : server_ + 1;
  }

  void see(const DevicePlace& device) {
    const json::value* value = device.device->if_contains("device_id");
    const auto id = number_of(value);
    const auto add = [&](const std::string& expected) {
      table_.breaches.add(path_of(table_.layout.form, device.place, "device_id"), value, expected, kLogOnly);
    };
    if (!id) {
      add("a number from 0");
    } else if (*id > most_ && table_.layout.form != Form::Version2) {
      add("a device from 0 to " + std::to_string(most_));
    } else if (const auto [first, is_new] =
                   seen_.try_emplace((server_ << 32U) | static_cast<std::uint64_t>(*id), &device);
               !is_new) {
      add("a device that nobody else has on this server; " + at(table_, *first->second) + " has it");
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

// Names of pods and servers, and addresses of hosts.

namespace {

constexpr std::size_t kMostLetters = 63;

void check_id(const Checked& table, const InstancePlace& instance) {
  const json::value* id = instance.instance->if_contains("server_id");
  const std::size_t letters = server_of(instance).size();
  if (letters == 0 || letters > kMostLetters) {
    table.breaches.add(path_of(table.layout.form, instance.place, "server_id"), id,
                       "the server's address or name, 1 to 63 letters", kInvalidTable);
  }
}

void check_ids(const Checked& table) {
  std::set<std::string_view> seen;
  for (const InstancePlace& instance : table.layout.instances) {
    check_id(table, instance);
    const std::string_view id = server_of(instance);
    const bool is_first = seen.insert(id).second;
    const bool has_groups = table.layout.form == Form::Groups || table.layout.form == Form::Standard;
    if (!is_first && !id.empty() && !has_groups) {
      table.breaches.add(path_of(table.layout.form, instance.place, "server_id"),
                         instance.instance->if_contains("server_id"),
                         "a server that is listed once, with all its devices", kInvalidTable);
    }
  }
}

void check_host_addresses(const Checked& table) {
  std::size_t with_address = 0;
  for (const InstancePlace& instance : table.layout.instances) {
    with_address += text_of(*instance.instance, "host_ip").empty() ? 0 : 1;
  }
  for (const InstancePlace& instance : table.layout.instances) {
    const json::value* value = instance.instance->if_contains("host_ip");
    const std::string_view address = text_of(*instance.instance, "host_ip");
    const std::string path = path_of(table.layout.form, instance.place, "host_ip");
    if (address.empty() && with_address > 0) {
      table.breaches.add(path, value, "an address, as other servers have one", kLogOnly);
    } else if (!address.empty() && !is_numeric_address(address)) {
      table.breaches.add(path, value, "an address of version 4 or 6", kInvalidTable);
    }
  }
}

/// Checks that pod numbers are unique, because ranks follow them.
void check_pods(const Checked& table) {
  if (table.layout.form != Form::Groups) {
    return;
  }
  std::map<int, std::size_t> sizes;
  for (const InstancePlace& instance : table.layout.instances) {
    sizes[instance.place.group] += 1;
  }
  std::set<std::pair<int, std::uint64_t>> seen;
  for (const InstancePlace& instance : table.layout.instances) {
    const auto number = pod_number(text_of(*instance.instance, "pod_name"));
    const bool is_alone = sizes[instance.place.group] == 1;
    if (is_alone || (number && seen.insert({instance.place.group, *number}).second)) {
      continue;
    }
    table.breaches.add(path_of(table.layout.form, instance.place, "pod_name"),
                       instance.instance->if_contains("pod_name"),
                       "a name that ends with - and a number that no other pod of the group has");
  }
}

}  // namespace

void check_servers(const Checked& table) {
  if (table.layout.form == Form::Version2) {
    return;
  }
  check_pods(table);
  check_ids(table);
  check_host_addresses(table);
}

}  // namespace muster::rank_table
