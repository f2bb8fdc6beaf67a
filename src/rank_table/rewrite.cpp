// Rewrites a table's text for the workers: forms with groups become 1.0, others stay, and each value gets the JSON
// type that HCCL wants. Also lists the values that it corrects.
#include "rank_table/rewrite.hpp"

#include "rank_table/rule.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <span>
#include <utility>

namespace muster::rank_table {
namespace {

using Keys = std::initializer_list<std::string_view>;

/// Converts a number to text.
void make_text(json::object& object, std::string_view key) {
  json::value* value = object.if_contains(key);
  if (value != nullptr && (value->is_int64() || value->is_uint64())) {
    *value = json::string(json::serialize(*value), object.storage());
  }
}

/// The member, added if missing. The library's own operator[] allocates before it searches.
json::value& member_of(json::object& object, std::string_view key) {
  json::value* found = object.if_contains(key);
  return found != nullptr ? *found : object[key];
}

/// Sets the document's `version`, also where it was an unquoted 1.0, or that of another form.
void make_version(json::object& root, std::string_view version) {
  if (text_of(root, "version") != version) {
    root["version"] = version;
  }
}

/// Converts texts to numbers.
void make_number(json::object& object, Keys keys) {
  for (const std::string_view key : keys) {
    json::value* value = object.if_contains(key);
    const auto number = value != nullptr && value->is_string() ? number_of(value) : std::nullopt;
    if (number) {
      *value = *number;
    }
  }
}

/// Moves members, except existing ones and those in `without`.
void move_members(json::object& from, json::object& to, Keys without) {
  for (auto& member : from) {
    const std::string_view key = member.key();
    if (!contains(without, key) && !to.contains(key)) {
      to.emplace(key, std::move(member.value()));
    }
  }
}

void canonical_device(json::object& device) {
  for (const std::string_view key : kDeviceTexts) {
    make_text(device, key);
  }
}

struct Rewriter {
  json::object& root;
  Layout layout;
  const Table& table;
  const Changes& changes;

  /// Consumes the document.
  std::string rewrite(std::size_t size) {
    const bool has_groups = layout.form == Form::Groups || layout.form == Form::Standard;
    set_ranks();
    if (has_groups) {
      return print(servers_of_groups(), size);
    }
    if (layout.form == Form::Version2) {
      make_canonical_ranks();
    } else {
      make_canonical_servers();
    }
    return print(std::move(root), size);
  }

  /// Writes the table's ranks, or their replacements.
  void set_ranks() {
    const bool is_number = layout.form == Form::Version2;
    std::size_t next = 0;
    for (std::size_t i = 0; i < layout.instances.size(); ++i) {
      const auto& places = layout.instances[i].devices;
      for (std::size_t k = 0; k < places.size(); ++k, ++next) {
        const int rank = next < changes.ranks.size() ? changes.ranks[next] : table.instances[i].devices[k].rank;
        json::value& value = member_of(*places[k].device, "rank_id");
        value = is_number ? json::value(rank) : json::value(std::to_string(rank), root.storage());
      }
    }
  }

  /// Merges instances by `server_id`, in the order of their first occurrence.
  json::array merged_servers() {
    json::array servers(root.storage());
    std::map<std::string, std::size_t, std::less<>> found;
    for (InstancePlace& place : layout.instances) {
      if (place.devices.empty()) {
        continue;
      }
      const std::string_view id = text_of(*place.instance, "server_id");
      const auto [at, is_first] = found.try_emplace(std::string(id), servers.size());
      if (is_first) {
        json::object server(root.storage());
        server["server_id"] = id;
        server["device"] = json::array(root.storage());
        servers.push_back(std::move(server));
      }
      json::object& server = servers[at->second].get_object();
      for (const DevicePlace& device : place.devices) {
        canonical_device(*device.device);
        member_of(server, "device").get_array().push_back(std::move(*device.device));
      }
      move_members(*place.instance, server, {"pod_name", "devices", "rank_id"});
      add_pod_address(server);
    }
    return servers;
  }

  json::object servers_of_groups() {
    json::object result(root.storage());
    json::array servers = merged_servers();
    result["status"] = "completed";
    result["version"] = "1.0";
    result["server_count"] = std::to_string(servers.size());
    result["server_list"] = std::move(servers);
    // Without the lists that identify other forms, at any position.
    const Keys dropped = {"group_count",  "group_list",     "rank_list",     "super_pod_list", "group_name",
                          "device_count", "instance_count", "instance_list", "device_num",     "server_num"};
    move_members(root, result, dropped);
    for_each_object(array_of(root, "group_list"), [&](json::object& group) { move_members(group, result, dropped); });
    return result;
  }

  void make_canonical_servers() {
    const bool has_pods = layout.form == Form::SuperPods;
    root.emplace("status", "completed");
    make_version(root, has_pods ? "1.2" : "1.0");
    root.emplace("server_count", std::to_string(layout.instances.size()));
    make_text(root, "server_count");
    for (const InstancePlace& place : layout.instances) {
      add_pod_address(*place.instance);
    }
    for_each_device(layout, [](const DevicePlace& place) { canonical_device(*place.device); });
    for_each_object(array_of(root, "super_pod_list"), [](json::object& pod) { make_text(pod, "super_pod_id"); });
  }

  void make_canonical_ranks() {
    root.emplace("status", "completed");
    make_version(root, "2.0");
    root.emplace("rank_count", table.size);
    make_number(root, {"rank_count"});
    for_each_device(layout, [](const DevicePlace& place) {
      make_number(*place.device, {"rank_id", "device_id", "local_id"});
      for_each_object(array_of(*place.device, "level_list"),
                      [](json::object& level) { make_number(level, {"net_layer"}); });
    });
  }

  void add_pod_address(json::object& server) const {
    const auto found = changes.pod_addresses.find(std::string(text_of(server, "server_id")));
    if (found != changes.pod_addresses.end() && text_of(server, "pod_ip").empty()) {
      server["pod_ip"] = found->second;
    }
  }
};

}  // namespace

std::string rewrite(std::string text, const Table& table, const Changes& changes) {
  Memory memory;
  json::object root = parse_again(text, memory);
  const std::size_t size = std::exchange(text, {}).size();
  Breaches ignored(0);
  return Rewriter{root, lay_out(root, ignored), table, changes}.rewrite(size);
}

// Finds values that HCCL refuses as written, and that `rewrite` corrects.

namespace {

/// HCCL accepts such a name, and the servers stay distinct.
bool is_first_blank_name(State& state, const Item& item) {
  const bool has_blank = std::ranges::any_of(text_of(item.value), [](char letter) {
    const auto code = static_cast<unsigned char>(letter);
    return code <= ' ' || code == 0x7F;
  });
  return has_blank && !std::exchange(state.has_reported_first, true);
}

bool is_version_1(State&, const Item& item) {
  return text_of(item.value) == "1.0";
}

bool see_device_texts(State& state, const Item& item) {
  for (const std::string_view member : kDeviceTexts) {
    see_all_devices(state, {0, item.rule.forms, AllDevices, member, is_number, "this value as text", item.rule.code});
  }
  return false;
}

/// Reports the first super pod whose name is a number.
bool see_super_pod_texts(State& state, const Item& item) {
  const json::array* pods = array_of(state.table.root, "super_pod_list");
  for (std::size_t i = 0; pods != nullptr && i < pods->size(); ++i) {
    const json::object* pod = (*pods)[i].if_object();
    const json::value* id = pod == nullptr ? nullptr : pod->if_contains("super_pod_id");
    if (id != nullptr && (id->is_int64() || id->is_uint64())) {
      add_at(state, item, "super_pod_list[" + std::to_string(i) + "].super_pod_id", id, "this value as text");
      return false;
    }
  }
  return false;
}

bool has_uneven_super_pods(State& state, const Item&) {
  std::set<std::size_t> sizes;
  for_each_object(array_of(state.table.root, "super_pod_list"), [&sizes](const json::object& pod) {
    const json::array* servers = array_of(pod, "server_list");
    sizes.insert(servers == nullptr ? 0 : servers->size());
  });
  return sizes.size() > 1;
}

bool is_second_of_network(State& state, const Item& item) {
  const std::string_view network = lowest_network(*item.device->device);
  const auto id = number_of(item.value);
  return !network.empty() && id && !state.network_devices.emplace(network, *id).second;
}

constexpr Rule kRemarks[] = {
    {0, kAll, EachServer, "server_id", is_first_blank_name,
     "a name without blanks and control characters, as it is compared letter by letter", kNoCode},

    {1, kServers | kRanks, Root, "status", is_missing, "\"completed\"", kInvalidTable},
    {1, bit(Form::Version1), Root, "version", is_missing, "\"1.0\"", kInvalidTable},
    {1, kSuper, Root, "version", is_missing, "\"1.2\"", kInvalidTable},
    {1, kSuper, Root, "version", is_version_1, "\"1.2\", as there is a super_pod_list", kInvalidTable},
    {1, kServers, Root, "server_count", is_missing, "the number of servers in the list", kInvalidTable},
    {1, kServers, Root, "version", is_number, "this value as text", kInvalidTable},
    {1, kServers, Root, "server_count", is_number, "this value as text", kInvalidTable},
    {1, kServers, Root, "server_list", see_device_texts, {}, kInvalidTable},
    {1, kSuper, Root, "super_pod_list", see_super_pod_texts, {}, kInvalidTable},
    {1, kSuper, Root, "super_pod_list", has_uneven_super_pods,
     "as many servers in each super pod, for older versions of HCCL", kInvalidTable},

    {1, kRanks, Root, "version", is_missing, "\"2.0\"", kInvalidTable},
    {1, kRanks, Root, "rank_count", is_missing, "the number of ranks in the list", kInvalidTable},
    {1, kRanks, Root, "rank_count", is_text, "this value as a number", kInvalidTable},
    {1, kRanks, AllDevices, "level_list", is_missing, "the layers of its network", kNoCode},
    {2, kRanks, EachDevice, "device_id", is_second_of_network,
     "a device that no other rank of the same net_instance_id has", kNoCode},
    {2, kRanks, AllDevices, "rank_id", is_text, "this value as a number", kInvalidTable},
    {2, kRanks, AllDevices, "device_id", is_text, "this value as a number", kInvalidTable},
    {2, kRanks, AllDevices, "local_id", is_text, "this value as a number", kInvalidTable},
};

}  // namespace

std::vector<Breach> find_notices(const json::object& root, const Layout& layout) {
  const Rules rules;
  Breaches found(rules.most);
  const Checked table{root, layout, rules, found};
  State state{table};
  apply(state, kRemarks);
  return std::move(found.found());
}

}  // namespace muster::rank_table
