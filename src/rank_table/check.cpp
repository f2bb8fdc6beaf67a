// Checks a table by HCCL's rules: each is a row of a table, in the order in which breaches are reported.
#include "rank_table/check.hpp"

#include "base/endpoint.hpp"
#include "base/text.hpp"
#include "rank_table/rule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

namespace muster::rank_table {

Rules find_rules(const Snapshot& snapshot) {
  const auto roce = snapshot.variables.find("HCCL_INTRA_ROCE_ENABLE");
  Rules rules;
  rules.needs_addresses = roce != snapshot.variables.end() && roce->second == "1";
  return rules;
}

std::size_t count_servers(const Layout& layout) {
  std::set<std::string_view> ids;
  for (const InstancePlace& instance : layout.instances) {
    ids.insert(text_of(*instance.instance, "server_id"));
  }
  return ids.size();
}

namespace {

/// Error code of newer versions of CANN.
constexpr std::string_view kNewerCode = "EI0014";

// Conditions on a value alone.

bool is_no_list(State&, const Item& item) {
  return item.value != nullptr && !item.value->is_array();
}
bool is_empty_list(State&, const Item& item) {
  return item.value != nullptr && item.value->is_array() && item.value->get_array().empty();
}
bool is_no_number(State&, const Item& item) {
  return !number_of(item.value);
}
bool is_no_port(State&, const Item& item) {
  const int port = number_of(item.value).value_or(0);
  return item.value != nullptr && (port < 1 || port > 65535);
}

// Lists and counts.

/// True for a list beside the one that muster reads: HCCL chooses a list by `version`, and might read the other one.
bool is_second_list(State& state, const Item& item) {
  for (const std::string_view list : {"server_list", "rank_list", "group_list"}) {
    if (item.value == nullptr || list == item.rule.member) {
      return false;
    }
    if (state.table.root.contains(list)) {
      state.detail = list;
      return true;
    }
  }
  return false;
}

bool is_other_version(State& state, const Item& item) {
  constexpr std::array<std::pair<double, std::string_view>, 3> kVersions = {{{1.0, "1.0"}, {1.2, "1.2"}, {2.0, "2.0"}}};
  return item.value != nullptr && std::ranges::none_of(kVersions, [&](const auto& version) {
           const double* number = item.value->if_double();
           return (version.second == "2.0") == (state.form == Form::Version2) &&
                  (text_of(item.value) == version.second ||
                   (number != nullptr && std::abs(*number - version.first) < 0.001));
         });
}

bool is_other_count(State& state, const json::value* count, std::size_t actual) {
  state.detail = std::to_string(actual);
  return count != nullptr && number_of(count) != static_cast<int>(actual);
}

bool is_other_count(State& state, const Item& item) {
  const std::string_view noun = item.rule.member.substr(0, item.rule.member.find('_'));
  const json::array* list = array_of(state.table.root, std::string(noun) + "_list");
  return list != nullptr && is_other_count(state, item.value, list->size());
}

bool is_without_device(State& state, const Item& item) {
  return item.value != nullptr && item.value->is_array() && state.table.layout.instances.empty() &&
         state.table.breaches.found().empty();
}

/// True for a power of two per server, as HCCL's first parser, and the chip that it is for, require it.
bool has_power_of_two(std::size_t devices, std::size_t servers) {
  constexpr std::array<std::size_t, 5> kPowers = {1, 2, 4, 8, 16};
  return servers == 0 || std::ranges::any_of(kPowers, [&](std::size_t power) { return devices == power * servers; });
}

void see_group(State& state, const Item& item, const json::object& group, const std::string& path) {
  const json::array& instances = *array_of(group, "instance_list");
  std::size_t devices = 0;
  std::set<std::string_view> servers;
  for_each_object(&instances, [&](const json::object& instance) {
    const json::array* list = array_of(instance, "devices");
    devices += list == nullptr ? 0 : list->size();
    servers.insert(text_of(instance, "server_id"));
  });
  const auto want = [&](std::string_view key, std::size_t actual) {
    if (const json::value* count = group.if_contains(key); is_other_count(state, count, actual)) {
      add_at(state, item, path + std::string(key), count, state.detail + ", as many as are listed");
    }
  };
  want("instance_count", instances.size());
  want("device_count", devices);
  if (state.form == Form::Groups) {
    return;
  }
  want("device_num", devices);
  want("server_num", servers.size());
  if (!has_power_of_two(devices, servers.size())) {
    const json::value count(devices);
    add_at(state, item, path + "instance_list", &count, "1, 2, 4, 8 or 16 devices for each server");
  }
}

/// Compares each group's counts with its lists.
bool see_groups(State& state, const Item& item) {
  const json::array* groups = array_of(state.table.root, "group_list");
  for (std::size_t i = 0; groups != nullptr && i < groups->size(); ++i) {
    const json::object* group = (*groups)[i].if_object();
    if (group != nullptr && array_of(*group, "instance_list") != nullptr) {
      see_group(state, item, *group, "group_list[" + std::to_string(i) + "].");
    }
  }
  return false;
}

// Names of pods and servers, and addresses of hosts.

/// True for a pod without a number, or with that of another one in its group: ranks follow these numbers.
bool is_unordered_pod(State& state, const Item& item) {
  const int group = item.server->place.group;
  const auto number = pod_number(text_of(item.value));
  return state.group_sizes[group] > 1 && !(number && state.pod_numbers.emplace(group, *number).second);
}
bool is_no_name(State&, const Item& item) {
  return text_of(item.value).empty() || text_of(item.value).size() > 63;
}
bool is_second_server(State& state, const Item& item) {
  return !state.servers.insert(text_of(item.value)).second && !text_of(item.value).empty();
}
bool lacks_host_address(State& state, const Item& item) {
  return state.has_host_addresses && text_of(item.value).empty();
}
bool is_no_address(State&, const Item& item) {
  return !text_of(item.value).empty() && !is_numeric_address(text_of(item.value));
}

// Ranks run from 0 without a gap, and devices are unique.

bool is_first_rank(State& state, const Item& item) {
  return item.value != nullptr && !std::exchange(state.has_reported_first, true);
}
/// True once for an object without a rank, also if it has the rank of several devices.
bool is_without_rank(State& state, const Item& item) {
  return !number_of(item.value) && std::exchange(state.without_rank, item.device->ranked) != item.device->ranked;
}
bool is_rank_beyond(State& state, const Item& item) {
  state.detail = std::to_string(state.devices);
  return number_of(item.value).value_or(-1) >= static_cast<std::ptrdiff_t>(state.devices);
}
bool is_second(State& state, const DevicePlace*& owner, const Item& item) {
  const DevicePlace* first = std::exchange(owner, owner == nullptr ? item.device : owner);
  state.detail = first == nullptr ? "" : path_of(state.form, first->place);
  return first != nullptr;
}
bool is_second_rank(State& state, const Item& item) {
  const auto rank = number_of(item.value);
  return rank && static_cast<std::size_t>(*rank) < state.devices &&
         is_second(state, state.ranks[static_cast<std::size_t>(*rank)], item);
}

/// Highest device id of a server; the first Ascend 910 is named by `chip_info`.
int most_id(const State& state) {
  return text_of(state.table.root, "chip_info") == "910" ? 7 : 15;
}
bool is_id_beyond(State& state, const Item& item) {
  state.detail = std::to_string(most_id(state));
  return number_of(item.value).value_or(0) > most_id(state);
}
/// Several pods may share a server. Form 2.0 has no servers' names: there each instance is a host.
bool is_second_id(State& state, const Item& item) {
  const bool has_names = state.form != Form::Version2;
  if (std::exchange(state.server, item.server) != item.server) {
    const auto next = static_cast<std::uint64_t>(state.server_numbers.size());
    const std::string_view name = text_of(*item.server->instance, "server_id");
    state.server_number =
        has_names ? state.server_numbers.try_emplace(name, next).first->second : state.server_number + 1;
  }
  const auto id = number_of(item.value);
  return id && !(has_names && *id > most_id(state)) &&
         is_second(state, state.ids[state.server_number << 32U | static_cast<std::uint64_t>(*id)], item);
}

// Addresses and ports of devices.

bool lacks_address(State& state, const Item& item) {
  const bool is_lacking =
      state.needs_addresses && text_of(item.value).empty() && text_of(*item.server->instance, "host_ip").empty();
  if (is_lacking) {
    state.detail = state.table.rules.needs_addresses ? "HCCL_INTRA_ROCE_ENABLE is 1" : "the table has several servers";
  }
  return is_lacking;
}
bool is_address_no_text(State& state, const Item& item) {
  return item.value != nullptr && !item.value->is_string() && !lacks_address(state, item);
}
bool is_other_address_count(State& state, const Item& item) {
  const std::string_view list = text_of(item.value);
  if (list.empty() && (lacks_address(state, item) || is_address_no_text(state, item))) {
    return false;
  }
  const std::ptrdiff_t count = list.empty() ? 0 : std::ranges::count(list, ',') + 1;
  state.addresses = state.addresses.value_or(count);
  state.detail = std::to_string(*state.addresses);
  return count != state.addresses;
}

bool see_addresses(State& state, const Item& item) {
  Owners& owners = item.rule.member == "device_ip" ? state.owners : state.backup_owners;
  for (const std::string& text : split(text_of(item.value), ',')) {
    auto address = address_bytes(text);
    if (!address) {
      add(state, item, "an address of version 4 or 6");
    } else if (is_second(state, owners[std::move(*address)], item)) {
      add(state, item, "an address that nobody else has; % has it");
    }
  }
  return false;
}

/// Needs the owners of all addresses.
bool see_backups(State& state, const Item& item) {
  for (const std::string& text : split(text_of(item.value), ',')) {
    const auto address = address_bytes(text);
    const auto owner = address ? state.owners.find(*address) : state.owners.end();
    if (owner == state.owners.end()) {
      continue;
    }
    const json::value* port = item.device->device->if_contains("backup_device_port");
    if (owner->second == item.device) {
      add(state, item, "an address of another device than its own");
    } else if (number_of(port) && number_of(port) == number_of(owner->second->device->if_contains("device_port"))) {
      add_at(state, item, path_of(state.form, item.device->place, "backup_device_port"), port,
             "another port than device_port of " + path_of(state.form, owner->second->place) +
                 ", whose address it shares");
    }
  }
  return false;
}

// Super pods of form 1.2 and their servers.

std::string pod_path(std::size_t pod) {
  return "super_pod_list[" + std::to_string(pod) + "]";
}

void see_servers(State& state, const Item& pods, const json::object& pod, std::size_t index) {
  const std::string path = pod_path(index) + ".server_list";
  const json::array* list = array_of(pod, "server_list");
  if (list == nullptr) {
    add_at(state, pods, path, pod.if_contains("server_list"), "a list");
    return;
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json::value& item = (*list)[i];
    const json::object* server = item.if_object();
    const std::string_view id = server == nullptr ? "" : text_of(*server, "server_id");
    const json::value* value = server == nullptr ? &item : server->if_contains("server_id");
    const bool is_listed = state.servers.contains(id);
    if (!is_listed || !state.super_pods.try_emplace(id, index).second) {
      add_at(state, pods, path + "[" + std::to_string(i) + "].server_id", value,
             is_listed ? "a server of no other super pod" : "a server that server_list has");
    }
  }
}

bool see_super_pods(State& state, const Item& item) {
  const json::array* pods = array_of(state.table.root, "super_pod_list");
  state.has_super_pods = pods != nullptr;
  std::set<std::string> ids;
  for (std::size_t i = 0; pods != nullptr && i < pods->size(); ++i) {
    const json::object* pod = (*pods)[i].if_object();
    if (pod == nullptr) {
      add_at(state, item, pod_path(i), &(*pods)[i], "an object");
      continue;
    }
    const std::string id = plain_text(*pod, "super_pod_id");
    if (id.empty() || !ids.insert(id).second) {
      add_at(state, item, pod_path(i) + ".super_pod_id", pod->if_contains("super_pod_id"),
             id.empty() ? "a name" : "a name that no other super pod has");
    }
    see_servers(state, item, *pod, i);
  }
  return false;
}

bool is_in_no_super_pod(State& state, const Item& item) {
  const auto found = state.super_pods.find(text_of(item.value));
  state.super_pod = found == state.super_pods.end() ? std::nullopt : std::optional(found->second);
  return state.has_super_pods && !state.super_pod;
}

/// A number of 32 bits, as digits; empty: invalid.
std::string super_device_id(const Item& item) {
  const std::string digits = plain_text(*item.device->device, item.rule.member);
  const bool is_number =
      digits.size() <= 10 && !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
  return is_number && std::stoull(digits) <= std::numeric_limits<std::uint32_t>::max()
             ? std::to_string(std::stoull(digits))
             : "";
}
bool lacks_super_id(State& state, const Item& item) {
  return state.super_pod && item.value == nullptr;
}
bool is_no_super_id(State& state, const Item& item) {
  return state.super_pod && item.value != nullptr && super_device_id(item).empty();
}
bool is_second_super_id(State& state, const Item& item) {
  const std::string id = super_device_id(item);
  return state.super_pod && !id.empty() && !state.super_device_ids.emplace(*state.super_pod, id).second;
}

// Network layers of each rank, in form 2.0.

bool see_levels(State& state, const Item& item) {
  constexpr int kMostLayer = 3;
  std::array<bool, kMostLayer + 1> layers{};
  const json::array* levels = array_of(*item.device->device, item.rule.member);
  for (std::size_t i = 0; levels != nullptr && i < levels->size(); ++i) {
    const json::object* level = (*levels)[i].if_object();
    const json::value* value = level == nullptr ? &(*levels)[i] : level->if_contains("net_layer");
    const auto layer = level == nullptr ? std::nullopt : number_of(value);
    if (!layer || *layer > kMostLayer || std::exchange(layers.at(static_cast<std::size_t>(*layer)), true)) {
      const std::string path = path_of(state, item) + "[" + std::to_string(i) + "]";
      add_at(state, item, path + (level == nullptr ? "" : ".net_layer"), value,
             level == nullptr ? "an object" : "a layer from 0 to 3, each once");
    }
  }
  return is_no_list(state, item);
}

constexpr Rule kRules[] = {
    {0, kAll, Root, "rank_list", is_second_list, "no such list beside %", kInvalidTable},
    {0, kAll, Root, "group_list", is_second_list, "no such list beside %", kInvalidTable},
    {0, kServers, Root, "version", is_other_version, "\"1.0\" or \"1.2\"", kInvalidTable},
    {0, kRanks, Root, "version", is_other_version, "\"2.0\"", kInvalidTable},
    {0, kServers, Root, "server_list", is_empty_list, "at least one entry", kInvalidTable},
    {0, kServers, Root, "server_count", is_other_count, "%, as many as are listed", kInvalidTable},
    {0, kServers, EachServer, "device", is_empty_list, "at least one device", kInvalidTable},
    {0, kRanks, Root, "rank_list", is_empty_list, "at least one entry", kInvalidTable},
    {0, kRanks, Root, "rank_count", is_other_count, "%, as many as are listed", kInvalidTable},
    {0, kGroups, Root, "group_list", is_empty_list, "at least one entry", kInvalidTable},
    {0, kGroups, Root, "group_list", is_without_device, "at least one device", kInvalidTable},
    {0, kGroups, Root, "group_count", is_other_count, "%, as many as are listed", kInvalidTable},
    {0, kGroups, Root, "group_list", see_groups, {}, kInvalidTable},
    {0, kGroups, EachServer, "devices", is_empty_list, "at least one device", kInvalidTable},

    {1, kPods, EachServer, "pod_name", is_unordered_pod,
     "a name that ends with - and a number that no other pod of the group has", kNoCode},
    {2, kHosts, EachServer, "server_id", is_no_name, "the server's address or name, 1 to 63 letters", kInvalidTable},
    {2, kServers, EachServer, "server_id", is_second_server, "a server that is listed once, with all its devices",
     kInvalidTable},
    {3, kHosts, EachServer, "host_ip", lacks_host_address, "an address, as other servers have one", kLogOnly},
    {3, kHosts, EachServer, "host_ip", is_no_address, "an address of version 4 or 6", kInvalidTable},

    {4, kPods, EachServer, "rank_id", is_first_rank, "no rank, as most devices have none and ranks go by pod_name",
     kNoCode},
    {5, kPods, EachDevice, "rank_id", is_first_rank, "no rank, as most devices have none and ranks go by pod_name",
     kNoCode},
    {6, kRanked, EachDevice, "rank_id", is_without_rank, "a number from 0", kInvalidTable},
    {6, kRanked, EachDevice, "rank_id", is_rank_beyond,
     "a rank below %, the number of devices, and each rank from 0 once", kInvalidTable},
    {6, kRanked, EachDevice, "rank_id", is_second_rank, "a rank that no other device has; % has it", kInvalidTable},
    {6, kAll, EachDevice, "device_id", is_no_number, "a number from 0", kLogOnly},
    {6, kHosts, EachDevice, "device_id", is_id_beyond, "a device from 0 to %", kLogOnly},
    {6, kAll, EachDevice, "device_id", is_second_id, "a device that nobody else has on this server; % has it",
     kLogOnly},

    {7, kHosts, EachDevice, "device_ip", lacks_address, "an address, as %", kNewerCode},
    {7, kHosts, EachDevice, "device_ip", is_address_no_text, "an address of version 4 or 6 as text", kInvalidTable},
    {7, kHosts, EachDevice, "device_ip", is_other_address_count, "as many addresses as the first device has, %",
     kLogOnly},
    {7, kHosts, EachDevice, "device_ip", see_addresses, {}, kInvalidTable},
    {7, kHosts, EachDevice, "backup_device_ip", see_addresses, {}, kInvalidTable},
    {7, kHosts, EachDevice, "device_port", is_no_port, "a port from 1 to 65535", kLogOnly},
    {7, kHosts, EachDevice, "device_vnic_port", is_no_port, "a port from 1 to 65535", kLogOnly},
    {7, kHosts, EachDevice, "host_port", is_no_port, "a port from 1 to 65535", kLogOnly},
    {7, kHosts, EachDevice, "backup_device_port", is_no_port, "a port from 1 to 65535", kLogOnly},
    {8, kHosts, EachDevice, "backup_device_ip", see_backups, {}, kLogOnly},

    {9, kSuper, Root, "super_pod_list", is_missing, "the servers of each super pod", kNewerCode},
    {9, kSuper, Root, "super_pod_list", is_no_list, "a list", kNewerCode},
    {9, kSuper, Root, "super_pod_list", see_super_pods, {}, kNewerCode},
    {9, kSuper, EachServer, "server_id", is_in_no_super_pod, "a server that super_pod_list has, too", kNewerCode},
    {9, kSuper, EachDevice, "super_device_id", lacks_super_id, "the device's number in its super pod", kNewerCode},
    {9, kSuper, EachDevice, "super_device_id", is_no_super_id, "the device's number in its super pod, of 32 bits",
     kNewerCode},
    {9, kSuper, EachDevice, "super_device_id", is_second_super_id, "a number that no other device of the super pod has",
     kNewerCode},

    {10, kRanks, EachDevice, "level_list", see_levels, "a list", kInvalidTable},
};

}  // namespace

void check_all(const Checked& table) {
  State state{table};
  for (const InstancePlace& server : table.layout.instances) {
    state.devices += server.devices.size();
    state.group_sizes[server.place.group] += 1;
    state.has_host_addresses = state.has_host_addresses || !text_of(*server.instance, "host_ip").empty();
  }
  state.ranks.resize(state.devices);
  state.ids.reserve(state.devices);
  const json::array* super_pods = array_of(table.root, "super_pod_list");
  const bool is_one_super_pod = state.form == Form::SuperPods && (super_pods == nullptr || super_pods->size() <= 1);
  state.needs_addresses = table.rules.needs_addresses || (!is_one_super_pod && count_servers(table.layout) > 1);
  apply(state, kRules);
}

}  // namespace muster::rank_table
