// From a table's text to what workers read: 1.0 for forms with groups, the same form for others, with each
// value of the kind that HCCL wants.
#include "rank_table/document.hpp"
#include "rank_table/layout.hpp"
#include "rank_table/print.hpp"

#include "rank_table/rewrite.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <utility>

namespace muster::rank_table {
namespace {

using Keys = std::initializer_list<std::string_view>;

/// A number as text.
void make_text(json::object& object, std::string_view key) {
  json::value* value = object.if_contains(key);
  if (value != nullptr && (value->is_int64() || value->is_uint64())) {
    *value = json::string(json::serialize(*value), object.storage());
  }
}

/// The member, new or not; the library's own operator makes room for a new one before it looks.
json::value& member_of(json::object& object, std::string_view key) {
  json::value* found = object.if_contains(key);
  return found != nullptr ? *found : object[key];
}

/// `version` of the document, also where it was 1.0 without quotes, or is that of another form.
void make_version(json::object& root, std::string_view version) {
  if (text_of(root, "version") != version) {
    root["version"] = version;
  }
}

/// Text as a number.
void make_number(json::object& object, Keys keys) {
  for (const std::string_view key : keys) {
    json::value* value = object.if_contains(key);
    const auto number = value != nullptr && value->is_string() ? number_of(value) : std::nullopt;
    if (number) {
      *value = *number;
    }
  }
}

/// Moves members, but those that stand there already and those that are named.
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

  /// Uses the document up.
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
  /// The table's ranks, or those that replace them.
  void set_ranks() {
    const bool is_number = layout_.form == Form::Version2;
    std::size_t next = 0;
    for (std::size_t i = 0; i < layout_.instances.size(); ++i) {
      const auto& places = layout_.instances[i].devices;
      for (std::size_t k = 0; k < places.size(); ++k, ++next) {
        const int rank = next < changes_.ranks.size() ? changes_.ranks[next]
                                                      : table_.instances[i].devices[k].rank;
        json::value& value = member_of(*places[k].device, "rank_id");
        value = is_number ? json::value(rank) : json::value(std::to_string(rank), root_.storage());
      }
    }
  }

  /// One server of each `server_id`, in the order in which it is met first.
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
    // Without the lists by which a form is known, wherever they stand.
    const Keys dropped = {"group_count",
                          "group_list",
                          "rank_list",
                          "super_pod_list",
                          "group_name",
                          "device_count",
                          "instance_count",
                          "instance_list",
                          "device_num",
                          "server_num"};
    move_members(root_, root, dropped);
    for_each_object(array_of(root_, "group_list"),
                    [&](json::object& group) { move_members(group, root, dropped); });
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
    for_each_object(array_of(root_, "super_pod_list"),
                    [](json::object& pod) { make_text(pod, "super_pod_id"); });
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

}  // namespace muster::rank_table
