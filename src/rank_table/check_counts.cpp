// Whether counts are what lists have, and whether there is anything at all.
#include "rank_table/check.hpp"

#include <cmath>
#include <set>

namespace muster::rank_table {
namespace {

void check_version(const Checked& table, std::initializer_list<std::string_view> known) {
  const json::value* version = table.root.if_contains("version");
  std::string expected;
  for (const std::string_view name : known) {
    const bool is_number =
        version != nullptr && version->is_double() &&
        std::abs(version->get_double() - (name.back() - '0') / 10.0 - (name.front() - '0')) < 0.001;
    if (version == nullptr || is_number || text_of(table.root, "version") == name) {
      return;
    }
    expected += (expected.empty() ? "\"" : " or \"") + std::string(name) + "\"";
  }
  table.breaches.add("version", version, expected, kInvalidTable);
}

/// A count is left out, or as large as its list.
void check_count(const Checked& table,
                 const json::object& object,
                 std::string path,
                 std::size_t actual) {
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

/// HCCL's first parser, and the chip that it is for, want powers of two.
void check_devices_per_server(const Checked& table,
                              const std::string& path,
                              const GroupSize& size) {
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
    table.breaches.add(
        "group_list", &table.root.at("group_list"), "at least one device", kInvalidTable);
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

/// An instance without devices, where none is meant.
void check_devices_listed(const Checked& table, std::string_view key) {
  for (const InstancePlace& instance : table.layout.instances) {
    const json::value* list = instance.instance->if_contains(key);
    if (list != nullptr && list->is_array() && list->get_array().empty()) {
      table.breaches.add(path_of(table.layout.form, instance.place, key),
                         list,
                         "at least one device",
                         kInvalidTable);
    }
  }
}

/// HCCL goes by `version`, and would read another list than muster.
void check_one_list(const Checked& table) {
  std::string_view first;
  for (const std::string_view key : {"server_list", "rank_list", "group_list"}) {
    const json::value* list = table.root.if_contains(key);
    if (list != nullptr && !first.empty()) {
      table.breaches.add(
          std::string(key), list, "no such list beside " + std::string(first), kInvalidTable);
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

}  // namespace muster::rank_table
