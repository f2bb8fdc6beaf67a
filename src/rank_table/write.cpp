// A table that was made and not read, as text.
#include "rank_table/print.hpp"

#include "rank_table/rewrite.hpp"

#include <utility>

namespace muster::rank_table {
namespace {

json::object object_of(const Device& device) {
  json::object object;
  object["device_id"] = std::to_string(device.id);
  if (!device.addresses.empty()) {
    object["device_ip"] = device.addresses;
  }
  object["rank_id"] = std::to_string(device.rank);
  if (!device.super_device_id.empty()) {
    object["super_device_id"] = device.super_device_id;
  }
  return object;
}

/// Instances of one host together: HCCL wants each `server_id` once.
json::array servers_of(const Table& table) {
  json::array servers;
  std::map<std::string_view, std::size_t> found;
  for (const Instance& instance : table.instances) {
    if (instance.devices.empty()) {
      continue;
    }
    const auto [at, is_first] = found.try_emplace(instance.server_id, servers.size());
    if (is_first) {
      servers.push_back(json::object{{"server_id", instance.server_id}, {"device", json::array{}}});
    }
    json::array& devices = servers[at->second].get_object()["device"].get_array();
    for (const Device& device : instance.devices) {
      devices.push_back(object_of(device));
    }
  }
  return servers;
}

json::array pods_of(const Table& table) {
  json::array pods;
  for (const SuperPod& pod : table.super_pods) {
    json::array servers;
    for (const std::string& id : pod.server_ids) {
      servers.push_back(json::object{{"server_id", id}});
    }
    pods.push_back(json::object{{"super_pod_id", pod.id}, {"server_list", std::move(servers)}});
  }
  return pods;
}

}  // namespace

std::string write(const Table& table) {
  json::object root;
  json::array servers = servers_of(table);
  root["status"] = "completed";
  root["version"] = table.super_pods.empty() ? "1.0" : "1.2";
  root["server_count"] = std::to_string(servers.size());
  root["server_list"] = std::move(servers);
  if (!table.super_pods.empty()) {
    root["super_pod_list"] = pods_of(table);
  }
  return print(std::move(root));
}

}  // namespace muster::rank_table
