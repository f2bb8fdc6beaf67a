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

void look_at(const json::object& instance, Signs& signs) {
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
                    [&signs](const json::object& instance) { look_at(instance, signs); });
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

Layout lay_out(json::object& root, Breaches& breaches) {
  Layout layout;
  layout.form = form_of(root);
  if (layout.form == Form::Version2) {
    lay_out_ranks(root, layout, breaches);
  } else if (layout.form == Form::Version1 || layout.form == Form::SuperPods) {
    lay_out_servers(root, layout, breaches);
  } else {
    lay_out_groups(root, layout, breaches);
  }
  return layout;
}

json::array* list_in(json::object& object, std::string_view key, const std::string& path, Breaches& breaches) {
  json::array* list = array_of(object, key);
  if (list == nullptr) {
    breaches.add(path, object.if_contains(key), "a list", kInvalidTable);
  }
  return list;
}

void lay_out_devices(InstancePlace& instance, std::string_view key, Form form, Breaches& breaches) {
  const std::string path = path_of(form, instance.place, key);
  json::array* list = list_in(*instance.instance, key, path, breaches);
  if (list == nullptr) {
    return;
  }
  instance.devices.reserve(list->size());
  Place place = instance.place;
  for (json::value& item : *list) {
    place.device += 1;
    if (json::object* device = item.if_object()) {
      instance.devices.push_back({device, device, place});
    } else {
      breaches.add(path_of(form, place), &item, "an object", kInvalidTable);
    }
  }
}

// The forms with `group_list`: v0.1 of ModelArts, and HCCL's first one, which has no version.

namespace {

/// Number at the end of an instance's name; instances without one come last, in listed order.
std::uint64_t place_in_group(const InstancePlace& place) {
  return pod_number(text_of(*place.instance, "pod_name")).value_or(std::numeric_limits<std::uint64_t>::max());
}

/// The instances of one group, in the order of ranks.
std::vector<InstancePlace> instances_of(json::array& list, const Place& group, Form form, Breaches& breaches) {
  std::vector<InstancePlace> instances;
  Place place = group;
  for (json::value& item : list) {
    place.instance += 1;
    json::object* instance = item.if_object();
    if (instance == nullptr) {
      breaches.add(path_of(form, place), &item, "an object", kInvalidTable);
      continue;
    }
    instances.push_back({instance, place, {}});
    lay_out_devices(instances.back(), "devices", form, breaches);
  }
  std::stable_sort(instances.begin(), instances.end(), [](const InstancePlace& left, const InstancePlace& right) {
    return place_in_group(left) < place_in_group(right);
  });
  return instances;
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

}  // namespace

void lay_out_groups(json::object& root, Layout& layout, Breaches& breaches) {
  json::array* groups = list_in(root, "group_list", "group_list", breaches);
  if (groups == nullptr) {
    return;
  }
  Place place;
  for (json::value& item : *groups) {
    place.group += 1;
    json::object* group = item.if_object();
    if (group == nullptr) {
      breaches.add(path_of(layout.form, place), &item, "an object", kInvalidTable);
      continue;
    }
    // A group without devices belongs to a role without devices.
    if (number_of(group->if_contains("device_count")) == 0) {
      continue;
    }
    const std::string path = path_of(layout.form, place, "instance_list");
    json::array* list = list_in(*group, "instance_list", path, breaches);
    if (list == nullptr) {
      continue;
    }
    auto instances = instances_of(*list, place, layout.form, breaches);
    std::move(instances.begin(), instances.end(), std::back_inserter(layout.instances));
  }
  if (layout.form == Form::Standard) {
    join_hosts(layout);
  }
}

// The forms with `server_list`: 1.0, and 1.2 with super pods.

void lay_out_servers(json::object& root, Layout& layout, Breaches& breaches) {
  json::array* servers = list_in(root, "server_list", "server_list", breaches);
  if (servers == nullptr) {
    return;
  }
  layout.instances.reserve(servers->size());
  Place place;
  for (json::value& item : *servers) {
    place.instance += 1;
    if (json::object* server = item.if_object()) {
      layout.instances.push_back({server, place, {}});
      lay_out_devices(layout.instances.back(), "device", layout.form, breaches);
    } else {
      breaches.add(path_of(layout.form, place), &item, "an object", kInvalidTable);
    }
  }
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

// The form with `rank_list`, 2.0. It has no host names: consecutive ranks belong to one host until a device id
// repeats, or the network of the lowest layer changes.

std::string_view lowest_network(const json::object& rank) {
  const json::array* levels = array_of(rank, "level_list");
  const json::object* level = levels == nullptr || levels->empty() ? nullptr : levels->front().if_object();
  return level == nullptr ? std::string_view{} : text_of(*level, "net_instance_id");
}

void lay_out_ranks(json::object& root, Layout& layout, Breaches& breaches) {
  json::array* ranks = list_in(root, "rank_list", "rank_list", breaches);
  if (ranks == nullptr) {
    return;
  }
  Place place;
  std::string_view network;
  std::set<int> ids;
  for (json::value& item : *ranks) {
    place.instance += 1;
    json::object* rank = item.if_object();
    if (rank == nullptr) {
      breaches.add(path_of(layout.form, place), &item, "an object", kInvalidTable);
      continue;
    }
    const int id = number_of(rank->if_contains("device_id")).value_or(-1);
    if (layout.instances.empty() || network != lowest_network(*rank) || ids.count(id) > 0) {
      layout.instances.push_back({rank, place, {}});
      ids.clear();
    }
    network = lowest_network(*rank);
    ids.insert(id);
    layout.instances.back().devices.push_back({rank, rank, place});
  }
}

}  // namespace muster::rank_table
