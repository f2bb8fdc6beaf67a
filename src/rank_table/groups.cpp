// The forms with `group_list`: v0.1 of ModelArts, and HCCL's first one, which has no version.
#include "rank_table/layout.hpp"
#include "rank_table/pod_number.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace muster::rank_table {
namespace {

/// Instances whose names end with no number come last, as they are listed.
std::uint64_t place_in_group(const InstancePlace& place) {
  return pod_number(text_of(*place.instance, "pod_name"))
      .value_or(std::numeric_limits<std::uint64_t>::max());
}

/// The instances of one group, in the order that ranks go by.
std::vector<InstancePlace> instances_of(json::array& list,
                                        const Place& group,
                                        Form form,
                                        Breaches& breaches) {
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
  std::stable_sort(instances.begin(),
                   instances.end(),
                   [](const InstancePlace& left, const InstancePlace& right) {
                     return place_in_group(left) < place_in_group(right);
                   });
  return instances;
}

/// In the form without a version an instance is one process: those of one host belong together, and the rank
/// stands beside its devices.
void join_hosts(Layout& layout) {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> hosts;
  std::vector<InstancePlace> joined;
  for (InstancePlace& place : layout.instances) {
    const json::object& instance = *place.instance;
    for (DevicePlace& device : place.devices) {
      device.ranked = device.device->contains("rank_id") ? device.device : place.instance;
    }
    const auto [host, is_first] = hosts.try_emplace(
        {text_of(instance, "pod_name"), text_of(instance, "server_id")}, joined.size());
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
    // A group without devices belongs to a role that has none.
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

}  // namespace muster::rank_table
