// Which servers make up a super pod, of form 1.2.
#include "rank_table/check.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace muster::rank_table {
namespace {

std::string pod_path(std::size_t pod, std::string_view field) {
  return "super_pod_list[" + std::to_string(pod) + "]." + std::string(field);
}

/// A number of 32 bits, as digits; empty: it is none.
std::string device_number(const json::object& device) {
  const std::string digits = plain_text(device, "super_device_id");
  const bool is_number = digits.size() <= 10 && !digits.empty() &&
                         digits.find_first_not_of("0123456789") == std::string::npos;
  return is_number && std::stoull(digits) <= std::numeric_limits<std::uint32_t>::max()
             ? std::to_string(std::stoull(digits))
             : "";
}

class SuperPodRules {
 public:
  explicit SuperPodRules(const Checked& table) : table_(table) {
    for (const InstancePlace& instance : table.layout.instances) {
      servers_.insert(server_of(instance));
    }
  }

  void see(std::size_t index, const json::object& pod) {
    const std::string id = plain_text(pod, "super_pod_id");
    const json::value* value = pod.if_contains("super_pod_id");
    if (id.empty()) {
      table_.breaches.add(pod_path(index, "super_pod_id"), value, "a name", kNewerCode);
    } else if (!ids_.insert(id).second) {
      table_.breaches.add(
          pod_path(index, "super_pod_id"), value, "a name that no other super pod has", kNewerCode);
    }
    const json::array* list = array_of(pod, "server_list");
    if (list == nullptr) {
      table_.breaches.add(
          pod_path(index, "server_list"), pod.if_contains("server_list"), "a list", kNewerCode);
      return;
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      see_server(index, pod_path(index, "server_list[" + std::to_string(i) + "]"), (*list)[i]);
    }
  }

  /// Every server is in one, and each of its devices has an id there.
  void see_devices(const InstancePlace& instance) {
    const auto pod = pod_of_server_.find(server_of(instance));
    if (pod == pod_of_server_.end()) {
      table_.breaches.add(path_of(table_.layout.form, instance.place, "server_id"),
                          instance.instance->if_contains("server_id"),
                          "a server that super_pod_list has, too",
                          kNewerCode);
      return;
    }
    for (const DevicePlace& device : instance.devices) {
      see_device(device, pod->second);
    }
  }

 private:
  void see_server(std::size_t pod, const std::string& path, const json::value& item) {
    const json::object* server = item.if_object();
    const std::string_view id = server == nullptr ? "" : text_of(*server, "server_id");
    const json::value* value = server == nullptr ? &item : server->if_contains("server_id");
    if (servers_.count(id) == 0) {
      table_.breaches.add(path + ".server_id", value, "a server that server_list has", kNewerCode);
    } else if (!pod_of_server_.try_emplace(id, pod).second) {
      table_.breaches.add(path + ".server_id", value, "a server of no other super pod", kNewerCode);
    }
  }

  void see_device(const DevicePlace& device, std::size_t pod) {
    const json::value* value = device.device->if_contains("super_device_id");
    const std::string id = device_number(*device.device);
    const std::string path = path_of(table_.layout.form, device.place, "super_device_id");
    if (id.empty()) {
      table_.breaches.add(path,
                          value,
                          value == nullptr ? "the device's number in its super pod"
                                           : "the device's number in its super pod, of 32 bits",
                          kNewerCode);
    } else if (!seen_.insert({pod, id}).second) {
      table_.breaches.add(
          path, value, "a number that no other device of the super pod has", kNewerCode);
    }
  }

  const Checked& table_;
  std::set<std::string_view> servers_;
  std::set<std::string> ids_;
  std::map<std::string_view, std::size_t> pod_of_server_;
  std::set<std::pair<std::size_t, std::string>> seen_;
};

}  // namespace

void check_super_pods(const Checked& table) {
  const json::value* pods = table.root.if_contains("super_pod_list");
  if (table.layout.form != Form::SuperPods) {
    return;
  }
  if (pods == nullptr) {
    table.breaches.add("super_pod_list", pods, "the servers of each super pod", kNewerCode);
    return;
  }
  if (!pods->is_array()) {
    table.breaches.add("super_pod_list", pods, "a list", kNewerCode);
    return;
  }
  SuperPodRules rules(table);
  for (std::size_t i = 0; i < pods->get_array().size(); ++i) {
    const json::value& item = pods->get_array()[i];
    if (item.is_object()) {
      rules.see(i, item.get_object());
    } else {
      table.breaches.add(
          "super_pod_list[" + std::to_string(i) + "]", &item, "an object", kNewerCode);
    }
  }
  for (const InstancePlace& instance : table.layout.instances) {
    rules.see_devices(instance);
  }
}

}  // namespace muster::rank_table
