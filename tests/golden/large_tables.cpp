// Writes the tables: see the header.
#include "large_tables.hpp"

#include <map>
#include <vector>

namespace muster::golden {
namespace {

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

std::string quoted(int number) {
  return quoted(std::to_string(number));
}

std::string name_of(int server) {
  return "10.0." + std::to_string(server / 250) + "." + std::to_string(server % 250 + 1);
}

std::string address_of(int server, int device) {
  return "192." + std::to_string(168 + server / 250) + "." + std::to_string(server % 250) + "." +
         std::to_string(100 + device);
}

int super_pod_of(int server, const Shape& shape) {
  return 2 * server / shape.servers;
}

/// Items on lines of their own, so many blanks from the left.
std::string list_of(const std::vector<std::string>& items, std::size_t depth) {
  const std::string blanks(depth, ' ');
  std::string text;
  for (const std::string& item : items) {
    text += (text.empty() ? "\n" : ",\n") + blanks + item;
  }
  return "[" + text + "\n" + blanks.substr(2) + "]";
}

std::string device_of(int server, int device, const std::string& more) {
  return "{\"device_id\":" + quoted(device) + ",\"device_ip\":" + quoted(address_of(server, device)) + more + "}";
}

std::string head_of(const std::string& version, const Shape& shape) {
  return "{\n  \"status\": \"completed\",\n  \"version\": " + quoted(version) +
         ",\n  \"server_count\": " + quoted(shape.servers) + ",\n  \"server_list\": ";
}

std::string servers_of(const Shape& shape, bool has_super_pods) {
  std::vector<std::string> servers;
  for (int server = 0; server < shape.servers; ++server) {
    std::vector<std::string> devices;
    for (int device = 0; device < shape.devices; ++device) {
      const int rank = server * shape.devices + device;
      devices.push_back(device_of(server, device,
                                  ",\"rank_id\":" + quoted(rank) +
                                      (has_super_pods ? ",\"super_device_id\":" + quoted(server * 16 + device) : "")));
    }
    servers.push_back("{\n      \"server_id\": " + quoted(name_of(server)) +
                      ",\n      \"device\": " + list_of(devices, 8) + "\n    }");
  }
  return list_of(servers, 4);
}

std::string level_of(int layer, const std::string& network) {
  return "{\"net_layer\":" + std::to_string(layer) + ",\"net_instance_id\":" + quoted(network) + "}";
}

}  // namespace

std::string version1(const Shape& shape) {
  return head_of("1.0", shape) + servers_of(shape, false) + "\n}\n";
}

std::string super_pods(const Shape& shape) {
  std::map<int, std::vector<std::string>> servers;
  for (int server = 0; server < shape.servers; ++server) {
    servers[super_pod_of(server, shape)].push_back("{\"server_id\":" + quoted(name_of(server)) + "}");
  }
  std::vector<std::string> pods;
  for (const auto& [pod, ids] : servers) {
    pods.push_back("{\n      \"super_pod_id\": " + quoted(pod) + ",\n      \"server_list\": " + list_of(ids, 8) +
                   "\n    }");
  }
  return head_of("1.2", shape) + servers_of(shape, true) + ",\n  \"super_pod_list\": " + list_of(pods, 4) + "\n}\n";
}

std::string version2(const Shape& shape) {
  std::vector<std::string> ranks;
  for (int rank = 0; rank < shape.servers * shape.devices; ++rank) {
    const int server = rank / shape.devices;
    const std::string id = std::to_string(rank % shape.devices);
    ranks.push_back("{\"rank_id\":" + std::to_string(rank) + ",\"local_id\":" + id + ",\"device_id\":" + id +
                    ",\"level_list\":[" + level_of(0, name_of(server)) + "," +
                    level_of(1, "superpod-" + std::to_string(super_pod_of(server, shape))) + "]}");
  }
  return "{\n  \"status\": \"completed\",\n  \"version\": \"2.0\",\n  \"rank_count\": " + std::to_string(ranks.size()) +
         ",\n  \"rank_list\": " + list_of(ranks, 4) + "\n}\n";
}

std::string groups(const Shape& shape, int pods_per_server) {
  std::map<std::string, std::string> pods;
  const int each = shape.devices / pods_per_server;
  for (int pod = 0; pod < shape.servers * pods_per_server; ++pod) {
    const int server = pod / pods_per_server;
    const int first = pod % pods_per_server * each;
    std::vector<std::string> devices;
    for (int device = first; device < first + each; ++device) {
      devices.push_back(device_of(server, device, ""));
    }
    const std::string name = "job-worker-" + std::to_string(pod);
    pods[name] = "{\"pod_name\":" + quoted(name) + ",\"server_id\":" + quoted(name_of(server)) +
                 ",\"devices\":" + list_of(devices, 4) + "}";
  }
  std::vector<std::string> instances;
  for (const auto& [name, instance] : pods) {
    instances.push_back(instance);
  }
  return R"({"status":"completed","group_count":"1","group_list":[{"group_name":"worker",)"
         R"("instance_count":)" +
         quoted(static_cast<int>(instances.size())) + R"(,"device_count":)" + quoted(shape.servers * shape.devices) +
         R"(,"instance_list":)" + list_of(instances, 4) + "}]}";
}

std::string standard(const Shape& shape) {
  std::vector<std::string> instances;
  for (int rank = 0; rank < shape.servers * shape.devices; ++rank) {
    const int server = rank / shape.devices;
    instances.push_back("{\"rank_id\":" + quoted(rank) + ",\"server_id\":" + quoted(name_of(server)) +
                        ",\"devices\":[" + device_of(server, rank % shape.devices, "") + "]}");
  }
  return R"({"status":"completed","group_list":[{"instance_list":)" + list_of(instances, 4) + "}]}";
}

std::string large_table(std::string_view form, const Shape& shape) {
  if (form == "groups") {
    return groups(shape, 1);
  }
  if (form == "standard") {
    return standard(shape);
  }
  if (form == "1.0") {
    return version1(shape);
  }
  if (form == "1.2") {
    return super_pods(shape);
  }
  return form == "2.0" ? version2(shape) : std::string();
}

}  // namespace muster::golden
