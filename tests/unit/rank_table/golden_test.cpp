// Tables as platforms write them, in every form, beside what workers get; tables that break one rule each; and
// tables that are too large for files, made here.
#include <muster/rank_table/read.hpp>
#include <muster/rank_table/rewrite.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace muster::rank_table {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

std::vector<fs::path> tables_in(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(fs::path(RANK_TABLES) / folder)) {
    if (entry.path().extension() == ".json") {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  EXPECT_FALSE(paths.empty());
  return paths;
}

Table table_of(const std::string& text) {
  Reading reading = read(text, "hccl.json");
  if (const auto* error = std::get_if<Error>(&reading)) {
    ADD_FAILURE() << error->message;
    return {};
  }
  return std::get<Table>(std::move(reading));
}

/// What each rank is, which no conversion may change.
std::map<int, std::string> ranks_of(const Table& table) {
  std::map<int, std::string> ranks;
  for (const Instance& instance : table.instances) {
    for (const Device& device : instance.devices) {
      ranks[device.rank] = instance.server_id + " " + std::to_string(device.id) + " " +
                           device.addresses + " " + device.super_device_id;
    }
  }
  return ranks;
}

void expect_conversion(const std::string& text, const std::string& expected) {
  const Table table = table_of(text);

  const std::string canonical = rewrite(text, table);

  EXPECT_EQ(canonical, expected);
  const Table again = table_of(canonical);
  EXPECT_EQ(rewrite(canonical, again), canonical);
  EXPECT_EQ(ranks_of(again), ranks_of(table));
  EXPECT_EQ(ranks_of(table).size(), static_cast<std::size_t>(table.size));
  EXPECT_TRUE(check(text).empty()) << describe(check(text).front());
  EXPECT_TRUE(check(canonical).empty()) << describe(check(canonical).front());
  EXPECT_TRUE(inspect(canonical, "t").remarks.empty());
}

/// Every server with so many devices, in one pod or more, as text in each form. Written as `rewrite` writes, so
/// that 1.0 and newer forms are their own conversion.
struct Shape {
  int servers = 64;
  int devices = 8;
};

std::string address(int server, int device) {
  return "10." + std::to_string(device) + "." + std::to_string(server / 250) + "." +
         std::to_string(server % 250 + 1);
}

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
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

std::string device_of(int server, int device, int rank, bool has_super_id) {
  std::string text = "{\"device_id\":" + quoted(std::to_string(device)) +
                     ",\"device_ip\":" + quoted(address(server, device));
  text += rank < 0 ? "" : ",\"rank_id\":" + quoted(std::to_string(rank));
  text +=
      has_super_id ? ",\"super_device_id\":" + quoted(std::to_string(server * 16 + device)) : "";
  return text + "}";
}

std::string servers_of(const Shape& shape, bool has_super_id) {
  std::vector<std::string> servers;
  for (int server = 0; server < shape.servers; ++server) {
    std::vector<std::string> devices;
    for (int device = 0; device < shape.devices; ++device) {
      devices.push_back(device_of(server, device, server * shape.devices + device, has_super_id));
    }
    servers.push_back("{\n      \"server_id\": " + quoted("node-" + std::to_string(server)) +
                      ",\n      \"device\": " + list_of(devices, 8) + "\n    }");
  }
  return list_of(servers, 4);
}

std::string version1(const Shape& shape) {
  return "{\n  \"status\": \"completed\",\n  \"version\": \"1.0\",\n  \"server_count\": " +
         quoted(std::to_string(shape.servers)) +
         ",\n  \"server_list\": " + servers_of(shape, false) + "\n}\n";
}

std::string super_pod(const Shape& shape) {
  std::vector<std::string> servers;
  for (int server = 0; server < shape.servers; ++server) {
    servers.push_back("{\"server_id\":" + quoted("node-" + std::to_string(server)) + "}");
  }
  return "{\n  \"status\": \"completed\",\n  \"version\": \"1.2\",\n  \"server_count\": " +
         quoted(std::to_string(shape.servers)) +
         ",\n  \"server_list\": " + servers_of(shape, true) +
         ",\n  \"super_pod_list\": [\n    {\n      \"super_pod_id\": \"0\",\n      "
         "\"server_list\": " +
         list_of(servers, 8) + "\n    }\n  ]\n}\n";
}

std::string version2(const Shape& shape) {
  std::vector<std::string> ranks;
  for (int rank = 0; rank < shape.servers * shape.devices; ++rank) {
    const std::string id = std::to_string(rank % shape.devices);
    ranks.push_back("{\"rank_id\":" + std::to_string(rank) + ",\"local_id\":" + id +
                    ",\"device_id\":" + id +
                    R"(,"level_list":[{"net_layer":0,"net_instance_id":"node-)" +
                    std::to_string(rank / shape.devices) + "\"}]}");
  }
  return "{\n  \"status\": \"completed\",\n  \"version\": \"2.0\",\n  \"rank_count\": " +
         std::to_string(ranks.size()) + ",\n  \"rank_list\": " + list_of(ranks, 4) + "\n}\n";
}

/// Pods in the order of their names as text, which is none of their numbers.
std::string groups(const Shape& shape, int pods_per_server) {
  std::map<std::string, std::string> pods;
  const int each = shape.devices / pods_per_server;
  for (int pod = 0; pod < shape.servers * pods_per_server; ++pod) {
    const int server = pod / pods_per_server;
    std::vector<std::string> devices;
    for (int device = pod % pods_per_server * each; devices.size() < static_cast<std::size_t>(each);
         ++device) {
      devices.push_back(device_of(server, device, -1, false));
    }
    const std::string name = "job-worker-" + std::to_string(pod);
    pods[name] = "{\"pod_name\":" + quoted(name) +
                 ",\"server_id\":" + quoted("node-" + std::to_string(server)) +
                 ",\"devices\":" + list_of(devices, 4) + "}";
  }
  std::vector<std::string> instances;
  for (const auto& [name, instance] : pods) {
    instances.push_back(instance);
  }
  return R"({"status":"completed","group_count":"1","group_list":[{"group_name":"worker",)"
         R"("instance_count":")" +
         std::to_string(instances.size()) + R"(","device_count":")" +
         std::to_string(shape.servers * shape.devices) + R"(","instance_list":)" +
         list_of(instances, 4) + "}]}";
}

std::string standard(const Shape& shape) {
  std::vector<std::string> instances;
  for (int rank = 0; rank < shape.servers * shape.devices; ++rank) {
    const int server = rank / shape.devices;
    instances.push_back("{\"rank_id\":" + quoted(std::to_string(rank)) + ",\"server_id\":" +
                        quoted("node-" + std::to_string(server)) + ",\"devices\":[" +
                        device_of(server, rank % shape.devices, -1, false) + "]}");
  }
  return R"({"status":"completed","group_list":[{"instance_list":)" + list_of(instances, 4) + "}]}";
}

TEST(GoldenRankTables, AreConvertedByteForByte) {
  for (const fs::path& path : tables_in("good")) {
    SCOPED_TRACE(path.filename().string());
    fs::path expected = path;
    expected.replace_extension(".expected");
    expect_conversion(content_of(path), content_of(expected));
  }
}

TEST(GoldenRankTables, BreakTheRulesThatTheyAreNamedAfter) {
  std::string found;
  for (const fs::path& path : tables_in("broken")) {
    for (const Breach& breach : check(content_of(path))) {
      found += path.stem().string() + ": " + describe(breach) + "\n";
    }
  }
  EXPECT_EQ(found, content_of(fs::path(RANK_TABLES) / "broken" / "expected.txt"));
}

TEST(GoldenRankTables, AreConvertedInEveryFormWhenTheyAreLarge) {
  const Shape shape;
  expect_conversion(groups(shape, 1), version1(shape));
  expect_conversion(groups(shape, 2), version1(shape));
  expect_conversion(standard(shape), version1(shape));
  expect_conversion(version1(shape), version1(shape));
  expect_conversion(super_pod(shape), super_pod(shape));
  expect_conversion(version2(shape), version2(shape));
  EXPECT_EQ(table_of(groups(shape, 2)).instances.size(), 128U);
  EXPECT_EQ(table_of(version2(shape)).instances.size(), 64U);
}

TEST(GoldenRankTables, AreTornWhereverTheyEnd) {
  for (const fs::path& path : tables_in("good")) {
    const std::string text = content_of(path);
    for (std::size_t length = 0; length + 2 < text.size(); length += 17) {
      ASSERT_TRUE(std::holds_alternative<Unfinished>(read(text.substr(0, length), "hccl.json")))
          << path << " of " << length << " bytes";
    }
  }
}

}  // namespace
}  // namespace muster::rank_table
