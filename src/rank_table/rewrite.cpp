// Rewrites a table's text for the workers: forms with groups become 1.0, others stay, and each value gets the JSON
// type that HCCL wants. Also lists the values that it corrects.
#include "rank_table/rewrite.hpp"

#include "rank_table/check.hpp"
#include "rank_table/layout.hpp"
#include "rank_table/read.hpp"

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
    if (std::find(without.begin(), without.end(), key) == without.end() && !to.contains(key)) {
      to.emplace(key, std::move(member.value()));
    }
  }
}

void canonical_device(json::object& device) {
  for (const std::string_view key : kDeviceTexts) {
    make_text(device, key);
  }
}

class Rewriter {
 public:
  Rewriter(json::object& root, Layout layout, const Table& table, const Changes& changes)
      : root_(root), layout_(std::move(layout)), table_(table), changes_(changes) {}

  /// Consumes the document.
  std::string rewrite(std::size_t size) {
    const bool has_groups = layout_.form == Form::Groups || layout_.form == Form::Standard;
    set_ranks();
    if (has_groups) {
      return print(servers_of_groups(), size);
    }
    if (layout_.form == Form::Version2) {
      make_canonical_ranks();
    } else {
      make_canonical_servers();
    }
    return print(std::move(root_), size);
  }

 private:
  /// Writes the table's ranks, or their replacements.
  void set_ranks() {
    const bool is_number = layout_.form == Form::Version2;
    std::size_t next = 0;
    for (std::size_t i = 0; i < layout_.instances.size(); ++i) {
      const auto& places = layout_.instances[i].devices;
      for (std::size_t k = 0; k < places.size(); ++k, ++next) {
        const int rank = next < changes_.ranks.size() ? changes_.ranks[next] : table_.instances[i].devices[k].rank;
        json::value& value = member_of(*places[k].device, "rank_id");
        value = is_number ? json::value(rank) : json::value(std::to_string(rank), root_.storage());
      }
    }
  }

  /// Merges instances by `server_id`, in the order of their first occurrence.
  json::array merged_servers() {
    json::array servers(root_.storage());
    std::map<std::string, std::size_t, std::less<>> found;
    for (InstancePlace& place : layout_.instances) {
      if (place.devices.empty()) {
        continue;
      }
      const std::string_view id = text_of(*place.instance, "server_id");
      const auto [at, is_first] = found.try_emplace(std::string(id), servers.size());
      if (is_first) {
        json::object server(root_.storage());
        server["server_id"] = id;
        server["device"] = json::array(root_.storage());
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
    json::object root(root_.storage());
    json::array servers = merged_servers();
    root["status"] = "completed";
    root["version"] = "1.0";
    root["server_count"] = std::to_string(servers.size());
    root["server_list"] = std::move(servers);
    // Without the lists that identify other forms, at any position.
    const Keys dropped = {"group_count",  "group_list",     "rank_list",     "super_pod_list", "group_name",
                          "device_count", "instance_count", "instance_list", "device_num",     "server_num"};
    move_members(root_, root, dropped);
    for_each_object(array_of(root_, "group_list"), [&](json::object& group) { move_members(group, root, dropped); });
    return root;
  }

  void make_canonical_servers() {
    const bool has_pods = layout_.form == Form::SuperPods;
    root_.emplace("status", "completed");
    make_version(root_, has_pods ? "1.2" : "1.0");
    root_.emplace("server_count", std::to_string(layout_.instances.size()));
    make_text(root_, "server_count");
    for (const InstancePlace& place : layout_.instances) {
      add_pod_address(*place.instance);
    }
    for_each_device(layout_, [](const DevicePlace& place) { canonical_device(*place.device); });
    for_each_object(array_of(root_, "super_pod_list"), [](json::object& pod) { make_text(pod, "super_pod_id"); });
  }

  void make_canonical_ranks() {
    root_.emplace("status", "completed");
    make_version(root_, "2.0");
    root_.emplace("rank_count", table_.size);
    make_number(root_, {"rank_count"});
    for_each_device(layout_, [](const DevicePlace& place) {
      make_number(*place.device, {"rank_id", "device_id", "local_id"});
      for_each_object(array_of(*place.device, "level_list"),
                      [](json::object& level) { make_number(level, {"net_layer"}); });
    });
  }

  void add_pod_address(json::object& server) const {
    const auto found = changes_.pod_addresses.find(std::string(text_of(server, "server_id")));
    if (found != changes_.pod_addresses.end() && text_of(server, "pod_ip").empty()) {
      server["pod_ip"] = found->second;
    }
  }

  json::object& root_;
  Layout layout_;
  const Table& table_;
  const Changes& changes_;
};

}  // namespace

std::string rewrite(std::string text, const Table& table, const Changes& changes) {
  Memory memory;
  json::object root = parse_again(text, memory);
  const std::size_t size = std::exchange(text, {}).size();
  Breaches ignored(0);
  return Rewriter(root, lay_out(root, ignored), table, changes).rewrite(size);
}

// Finds values that HCCL refuses as written, and that `rewrite` corrects.

namespace {

bool is_blank_or_control(char letter) {
  const auto code = static_cast<unsigned char>(letter);
  return code <= ' ' || code == 0x7F;
}

class Notices {
 public:
  Notices(const json::object& root, const Layout& layout) : root_(root), layout_(layout) {}

  std::vector<Breach> find() {
    want_plain_servers();
    if (layout_.form == Form::Version2) {
      find_in_ranks();
    } else if (layout_.form == Form::Version1 || layout_.form == Form::SuperPods) {
      find_in_servers();
    }
    return std::move(found_.found());
  }

 private:
  void want(const json::object& object, std::string_view key, std::string_view expected) {
    if (!object.contains(key)) {
      found_.add(std::string(key), nullptr, expected, kInvalidTable);
    }
  }

  void want_text(const json::object& object, std::string_view key, const std::string& path) {
    const json::value* value = object.if_contains(key);
    if (value != nullptr && value->is_number()) {
      found_.add(path, value, "it as text", kInvalidTable);
    }
  }

  /// Reports one breach for all devices: the first one's path, and the count, because a file has all of them alike.
  void want_of_devices(std::string_view key, bool as_text) {
    const DevicePlace* first = nullptr;
    std::size_t count = 0;
    for_each_device(layout_, [&](const DevicePlace& device) {
      const json::value* value = device.device->if_contains(key);
      if (value != nullptr && (as_text ? value->is_number() : value->is_string())) {
        first = first == nullptr ? &device : first;
        count += 1;
      }
    });
    if (first != nullptr) {
      found_.add(path_of(layout_.form, first->place, key), first->device->if_contains(key),
                 std::string("it as ") + (as_text ? "text" : "a number") +
                     (count > 1 ? ", here and in " + std::to_string(count - 1) + " more" : ""),
                 kInvalidTable);
    }
  }

  /// Reports the first one; HCCL accepts it, and the servers stay distinct.
  void want_plain_servers() {
    for (const InstancePlace& instance : layout_.instances) {
      const std::string_view id = server_of(instance);
      if (std::any_of(id.begin(), id.end(), is_blank_or_control)) {
        found_.add(path_of(layout_.form, instance.place, "server_id"), instance.instance->if_contains("server_id"),
                   "a name without blanks and control characters, as it is compared letter by letter");
        return;
      }
    }
  }

  void find_in_servers() {
    want(root_, "status", "\"completed\"");
    want(root_, "version", layout_.form == Form::SuperPods ? "\"1.2\"" : "\"1.0\"");
    if (layout_.form == Form::SuperPods && text_of(root_, "version") == "1.0") {
      found_.add("version", root_.if_contains("version"), "\"1.2\", as there is a super_pod_list", kInvalidTable);
    }
    want(root_, "server_count", "how many servers are listed");
    want_text(root_, "version", "version");
    want_text(root_, "server_count", "server_count");
    for (const std::string_view key : kDeviceTexts) {
      want_of_devices(key, true);
    }
    want_text_of_super_pods();
    compare_super_pods();
  }

  /// Reports the first super pod whose name is a number.
  void want_text_of_super_pods() {
    const json::array* pods = array_of(root_, "super_pod_list");
    for (std::size_t i = 0; pods != nullptr && i < pods->size(); ++i) {
      const json::object* pod = (*pods)[i].if_object();
      if (pod != nullptr && plain_text(*pod, "super_pod_id") != text_of(*pod, "super_pod_id")) {
        want_text(*pod, "super_pod_id", "super_pod_list[" + std::to_string(i) + "].super_pod_id");
        return;
      }
    }
  }

  /// Reports super pods of different sizes, which need newer versions of HCCL.
  void compare_super_pods() {
    std::set<std::size_t> sizes;
    for_each_object(array_of(root_, "super_pod_list"), [&sizes](const json::object& pod) {
      const json::array* servers = array_of(pod, "server_list");
      sizes.insert(servers == nullptr ? 0 : servers->size());
    });
    if (sizes.size() > 1) {
      found_.add("super_pod_list", root_.if_contains("super_pod_list"),
                 "as many servers in each super pod, for older versions of HCCL", "EI0004");
    }
  }

  /// Reports ranks of one host with equal devices.
  void compare_devices() {
    std::set<std::pair<std::string_view, int>> seen;
    for_each_device(layout_, [this, &seen](const DevicePlace& rank) {
      const std::string_view network = lowest_network(*rank.device);
      const json::value* value = rank.device->if_contains("device_id");
      const int id = number_of(value).value_or(-1);
      if (!network.empty() && id >= 0 && !seen.emplace(network, id).second) {
        found_.add(path_of(layout_.form, rank.place, "device_id"), value,
                   "a device that no other rank of the same net_instance_id has");
      }
    });
  }

  /// Reports the first rank without levels, and the number of others.
  void want_levels() {
    const DevicePlace* first = nullptr;
    std::size_t count = 0;
    for_each_device(layout_, [&](const DevicePlace& rank) {
      if (!rank.device->contains("level_list")) {
        first = first == nullptr ? &rank : first;
        count += 1;
      }
    });
    if (first != nullptr) {
      found_.add(
          path_of(layout_.form, first->place, "level_list"), nullptr,
          "the layers of its network" + (count > 1 ? ", here and in " + std::to_string(count - 1) + " more" : ""));
    }
  }

  void find_in_ranks() {
    want(root_, "status", "\"completed\"");
    want(root_, "version", "\"2.0\"");
    want(root_, "rank_count", "how many ranks are listed");
    if (const json::value* count = root_.if_contains("rank_count"); count != nullptr && count->is_string()) {
      found_.add("rank_count", count, "it as a number", kInvalidTable);
    }
    want_levels();
    compare_devices();
    for (const std::string_view key : {"rank_id", "device_id", "local_id"}) {
      want_of_devices(key, false);
    }
  }

  const json::object& root_;
  const Layout& layout_;
  Breaches found_{20};
};

}  // namespace

std::vector<Breach> find_remarks(const json::object& root, const Layout& layout) {
  return Notices(root, layout).find();
}

}  // namespace muster::rank_table
