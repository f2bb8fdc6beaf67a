// Lays out documents of all forms: finds their instances and devices, in the order of ranks.
#include "rank_table/layout.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace muster::rank_table {
namespace {

/// Counts that distinguish the two forms with groups.
struct Signs {
  std::size_t devices = 0;
  std::size_t with_rank = 0;  ///< of the device, or of its instance
  bool has_pods = false;
};

void note_signs(const json::object& instance, Signs& signs) {
  const bool is_ranked = instance.contains("rank_id");
  signs.has_pods = signs.has_pods || instance.contains("pod_name");
  for_each_object(array_of(instance, "devices"), [&signs, is_ranked](const json::object& device) {
    signs.devices += 1;
    signs.with_rank += is_ranked || device.contains("rank_id") ? 1 : 0;
  });
}

/// True when most devices have ranks, or some have and no pod number could order the ranks.
bool has_ranks(const json::object& root) {
  Signs signs;
  for_each_object(array_of(root, "group_list"), [&signs](const json::object& group) {
    for_each_object(array_of(group, "instance_list"),
                    [&signs](const json::object& instance) { note_signs(instance, signs); });
  });
  return 2 * signs.with_rank > signs.devices || (signs.with_rank > 0 && !signs.has_pods);
}

}  // namespace

Place place_of_rank(const DevicePlace& device) {
  Place place = device.place;
  place.device = device.ranked == device.device ? place.device : -1;
  return place;
}

std::string path_of(Form form, const Place& place, std::string_view field) {
  std::string path;
  const auto go_into = [&path](std::string_view list, int index) {
    path += index < 0 ? "" : (path.empty() ? "" : ".") + std::string(list) + "[" + std::to_string(index) + "]";
  };
  switch (form) {
    case Form::Groups:
    case Form::Standard:
      go_into("group_list", place.group);
      go_into("instance_list", place.instance);
      go_into("devices", place.device);
      break;
    case Form::Version1:
    case Form::SuperPods:
      go_into("server_list", place.instance);
      go_into("device", place.device);
      break;
    case Form::Version2:
      go_into("rank_list", place.instance);
      break;
  }
  return path + (path.empty() || field.empty() ? "" : ".") + std::string(field);
}

void Breaches::add(std::string path, const json::value* value, std::string_view expected, std::string_view code) {
  if (!is_full()) {
    found_.push_back({std::move(path), written(value), std::string(expected), std::string(code)});
  }
}

Form form_of(const json::object& root) {
  if (root.contains("group_list")) {
    return has_ranks(root) ? Form::Standard : Form::Groups;
  }
  const std::string_view version = text_of(root, "version");
  if (root.contains("rank_list") || (version == "2.0" && !root.contains("server_list"))) {
    return Form::Version2;
  }
  return root.contains("super_pod_list") || version == "1.2" ? Form::SuperPods : Form::Version1;
}

namespace {

/// Number at the end of an instance's name; instances without one come last, in listed order.
std::uint64_t place_in_group(const InstancePlace& place) {
  return pod_number(text_of(*place.instance, "pod_name")).value_or(std::numeric_limits<std::uint64_t>::max());
}

bool is_before_in_group(const InstancePlace& left, const InstancePlace& right) {
  return place_in_group(left) < place_in_group(right);
}

/// Joins the instances of one host: in the form without a version an instance is one process, with `rank_id` beside
/// its devices.
void join_hosts(Layout& layout) {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> hosts;
  std::vector<InstancePlace> joined;
  for (InstancePlace& place : layout.instances) {
    const json::object& instance = *place.instance;
    for (DevicePlace& device : place.devices) {
      device.ranked = device.device->contains("rank_id") ? device.device : place.instance;
    }
    const auto [host, is_first] =
        hosts.try_emplace({text_of(instance, "pod_name"), text_of(instance, "server_id")}, joined.size());
    if (is_first) {
      joined.push_back(std::move(place));
    } else {
      auto& devices = joined[host->second].devices;
      devices.insert(devices.end(), place.devices.begin(), place.devices.end());
    }
  }
  layout.instances = std::move(joined);
}

struct LayoutMaker {
  json::object& root;
  Breaches& breaches;
  Layout layout{form_of(root), {}};

  Layout make() {
    if (layout.form == Form::Version2) {
      add_ranks();
    } else if (layout.form == Form::Version1 || layout.form == Form::SuperPods) {
      for_each(root, "server_list", &Place::instance, {},
               [this](json::object& server, const Place& place) { add_instance(server, place, "device"); });
    } else {
      for_each(root, "group_list", &Place::group, {},
               [this](json::object& group, const Place& place) { add_group(group, place); });
    }
    if (layout.form == Form::Standard) {
      join_hosts(layout);
    }
    return std::move(layout);
  }

  /// Calls `function` with each object that `parent` lists under `key`, and its place, in which `index` counts.
  template <typename Function>
  void for_each(json::object& parent, std::string_view key, int Place::*index, Place place, const Function& function) {
    json::array* list = array_of(parent, key);
    if (list == nullptr) {
      breaches.add(path_of(layout.form, place, key), parent.if_contains(key), "a list", kInvalidTable);
      return;
    }
    for (json::value& item : *list) {
      place.*index += 1;
      if (json::object* object = item.if_object()) {
        function(*object, place);
      } else {
        breaches.add(path_of(layout.form, place), &item, "an object", kInvalidTable);
      }
    }
  }

  void add_instance(json::object& object, const Place& place, std::string_view key) {
    std::vector<DevicePlace>& devices = layout.instances.emplace_back(InstancePlace{&object, place, {}}).devices;
    for_each(object, key, &Place::device, place, [&](json::object& device, const Place& at) {
      devices.push_back({&device, &device, at});
    });
  }

  void add_group(json::object& group, const Place& place) {
    if (number_of(group.if_contains("device_count")) == 0) {
      return;  // a role without devices
    }
    const auto before = static_cast<std::ptrdiff_t>(layout.instances.size());
    for_each(group, "instance_list", &Place::instance, place,
             [this](json::object& instance, const Place& at) { add_instance(instance, at, "devices"); });
    std::stable_sort(layout.instances.begin() + before, layout.instances.end(), is_before_in_group);
  }

  /// Form 2.0 has no host names: consecutive ranks belong to one host until a device id repeats, or the network of the
  /// lowest layer changes.
  void add_ranks() {
    std::string_view network;
    std::set<int> ids;
    for_each(root, "rank_list", &Place::instance, {}, [&](json::object& rank, const Place& place) {
      const int id = number_of(rank.if_contains("device_id")).value_or(-1);
      if (layout.instances.empty() || network != lowest_network(rank) || ids.contains(id)) {
        layout.instances.emplace_back(InstancePlace{&rank, place, {}});
        ids.clear();
      }
      network = lowest_network(rank);
      ids.insert(id);
      layout.instances.back().devices.push_back({&rank, &rank, place});
    });
  }
};

}  // namespace

Layout lay_out(json::object& root, Breaches& breaches) {
  return LayoutMaker{root, breaches}.make();
}

// `super_pod_list` of form 1.2.

void add_super_pods(const json::object& root, Table& table) {
  if (table.form != Form::SuperPods) {
    return;
  }
  for_each_object(array_of(root, "super_pod_list"), [&table](const json::object& pod) {
    table.super_pods.push_back({plain_text(pod, "super_pod_id"), {}});
    std::vector<std::string>& ids = table.super_pods.back().server_ids;
    for_each_object(array_of(pod, "server_list"),
                    [&ids](const json::object& server) { ids.emplace_back(text_of(server, "server_id")); });
  });
}

// The order of a group's instances.

std::optional<std::uint64_t> pod_number(std::string_view pod_name) {
  const std::size_t dash = pod_name.rfind('-');
  const std::string_view digits = dash == std::string_view::npos ? pod_name : pod_name.substr(dash + 1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_whole = error == std::errc{} && end == digits.data() + digits.size();
  if (!is_whole || digits.size() > 18) {
    return std::nullopt;
  }
  return number;
}

std::string_view lowest_network(const json::object& rank) {
  const json::array* levels = array_of(rank, "level_list");
  const json::object* level = levels == nullptr || levels->empty() ? nullptr : levels->front().if_object();
  return level == nullptr ? std::string_view{} : text_of(*level, "net_instance_id");
}

}  // namespace muster::rank_table
