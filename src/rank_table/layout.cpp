// What all forms share in finding instances and devices.
#include "rank_table/layout.hpp"

#include <utility>

namespace muster::rank_table {
namespace {

std::string indexed(std::string_view list, int index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

/// What tells the two forms with groups apart.
struct Signs {
  std::size_t devices = 0;
  std::size_t with_rank = 0;  ///< of their own, or of their instance
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

/// Most devices have ranks, or some have and nothing else could be what ranks go by.
bool has_ranks(const json::object& root) {
  Signs signs;
  for_each_object(array_of(root, "group_list"), [&signs](const json::object& group) {
    for_each_object(array_of(group, "instance_list"),
                    [&signs](const json::object& instance) { look_at(instance, signs); });
  });
  return 2 * signs.with_rank > signs.devices || (signs.with_rank > 0 && !signs.has_pods);
}

}  // namespace

std::string path_of(Form form, const Place& place, std::string_view field) {
  std::string path;
  const auto go_into = [&path](std::string_view list, int index) {
    path += index < 0 ? "" : (path.empty() ? "" : ".") + indexed(list, index);
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

void Breaches::add(std::string path,
                   const json::value* value,
                   std::string_view expected,
                   std::string_view code) {
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

json::array* list_in(json::object& object,
                     std::string_view key,
                     const std::string& path,
                     Breaches& breaches) {
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

}  // namespace muster::rank_table
