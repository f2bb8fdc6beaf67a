// Tables made of what the nodes have.
#include "rank_table/generate.hpp"

#include <gtest/gtest.h>

namespace muster::rank_table {
namespace {

using Ids = std::vector<int>;

template <typename T>
std::string error_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

Snapshot showing(int devices, std::map<std::string, std::string> variables = {}) {
  Snapshot snapshot;
  snapshot.devices.ascend = devices;
  snapshot.variables = std::move(variables);
  return snapshot;
}

// --- Devices ------------------------------------------------------------------------------------

TEST(Generate, TakesTheDevicesThatAreCounted) {
  EXPECT_EQ(*choose_device_ids(showing(8), 8), (Ids{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(*choose_device_ids(showing(8), 2), (Ids{0, 1}));
  Snapshot half = showing(2);
  half.devices.ascend_ids = {6, 7};
  EXPECT_EQ(*choose_device_ids(half, 2), (Ids{6, 7}));
}

TEST(Generate, TakesTheDevicesThatAreListed) {
  EXPECT_EQ(*choose_device_ids(showing(8, {{"ASCEND_VISIBLE_DEVICES", "4-7"}}), 4), (Ids{4, 5, 6, 7}));
  EXPECT_EQ(*choose_device_ids(showing(8, {{"ASCEND_RT_VISIBLE_DEVICES", "1,3"}}), 2), (Ids{1, 3}));
  EXPECT_EQ(*choose_device_ids(showing(0, {{"ASCEND_RT_VISIBLE_DEVICES", "5"}}), 1), (Ids{5}));
}

TEST(Generate, TakesNoneThatAreHidden) {
  for (const char* const name : {"ASCEND_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"}) {
    EXPECT_EQ(error_of(choose_device_ids(showing(8, {{name, "-1"}}), 1)),
              "cannot generate a rank table for 1 worker of this node: it shows 0 Ascend devices");
  }
}

/// A container shows some of the host's, and its runtime counts those.
TEST(Generate, ReadsTheListOfTheRuntimeWithinThatOfTheContainer) {
  const Snapshot both = showing(4, {{"ASCEND_VISIBLE_DEVICES", "4-7"}, {"ASCEND_RT_VISIBLE_DEVICES", "0,2"}});
  EXPECT_EQ(*choose_device_ids(both, 2), (Ids{4, 6}));
  EXPECT_EQ(error_of(choose_device_ids(
                showing(4, {{"ASCEND_VISIBLE_DEVICES", "4-7"}, {"ASCEND_RT_VISIBLE_DEVICES", "4"}}), 1)),
            "ASCEND_RT_VISIBLE_DEVICES is '4', but this node shows 4 devices");
}

TEST(Generate, NeedsADeviceForEachWorker) {
  EXPECT_EQ(error_of(choose_device_ids(showing(2), 4)),
            "cannot generate a rank table for 4 workers of this node: it shows 2 Ascend devices");
}

TEST(Generate, MixesNoGroups) {
  const auto of = [](const char* list, int count) {
    return choose_device_ids(showing(0, {{"ASCEND_VISIBLE_DEVICES", list}}), count);
  };
  EXPECT_EQ(error_of(of("2-5", 4)),
            "cannot generate a rank table for the devices 2-5: expected some of 0-3, some of 4-7, or "
            "all eight");
  EXPECT_TRUE(of("0-7", 8));
  EXPECT_TRUE(of("0,3", 2));
  EXPECT_TRUE(of("4,7", 2));
  EXPECT_TRUE(of("2-9", 8)) << "a server of sixteen";
  EXPECT_FALSE(of("0-7", 5));
}

// --- Addresses ----------------------------------------------------------------------------------

TEST(Generate, ReadsTheFileOfTheDriver) {
  const char* const text =
      "address_0=192.168.100.101\nnetmask_0=255.255.255.0\n\n# note\naddress_1=192.168.101.101\r\n"
      "gateway_1=192.168.101.1\naddress_10=192.168.110.1";
  const auto addresses = read_addresses(text, "/etc/hccn.conf", {0, 1});
  ASSERT_TRUE(addresses) << addresses.error().message;
  EXPECT_EQ(*addresses, (Addresses{{0, "192.168.100.101"}, {1, "192.168.101.101"}, {10, "192.168.110.1"}}));
}

TEST(Generate, ReadsWhatTheToolPrints) {
  const char* const text =
      "ipaddr:192.168.100.101\nnetmask:255.255.255.0\nipaddr:192.168.101.101\n"
      "netmask:255.255.255.0\n";
  const auto addresses = read_addresses(text, "hccn.txt", {4, 6});
  ASSERT_TRUE(addresses) << addresses.error().message;
  EXPECT_EQ(*addresses, (Addresses{{4, "192.168.100.101"}, {6, "192.168.101.101"}}));
}

TEST(Generate, NamesErrorsOfAFile) {
  const auto error = [](const char* text) { return error_of(read_addresses(text, "f", {0, 1})); };
  EXPECT_EQ(error("address_0=1.2.3.4"), "'f' has no address_1, expected one for each device of this node");
  EXPECT_EQ(error("a\naddress_0=1.2.3"), "'f', line 2, has the address '1.2.3', expected one such as 192.168.100.101");
  EXPECT_EQ(error("address_0=1.2.3.4\naddress_0=1.2.3.5"), "'f' has two addresses for device 0: 1.2.3.4 and 1.2.3.5");
  EXPECT_EQ(error("ipaddr:1.2.3.4"),
            "'f' has 1 line with ipaddr, expected one for each device of this node, which are 2");
  EXPECT_EQ(error(""), "'f' has 0 lines with ipaddr, expected one for each device of this node, which are 2");
}

// --- The table ----------------------------------------------------------------------------------

TEST(Generate, CountsRanksByNodeAndDevice) {
  const auto table = merge_servers({make_server("10.0.0.9", {0, 1}, {{0, "1.1.1.1"}, {1, "1.1.1.2"}}),
                                    make_server("10.0.0.1", {4}, {{4, "1.1.2.1"}})},
                                   {"node 0", "node 1"});
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->size, 3);
  ASSERT_EQ(table->instances.size(), 2U);
  EXPECT_EQ(table->instances[0].server_id, "10.0.0.9");
  EXPECT_EQ(table->instances[0].devices[1].rank, 1);
  EXPECT_EQ(table->instances[0].devices[1].addresses, "1.1.1.2");
  EXPECT_EQ(table->instances[1].devices[0].rank, 2);
  EXPECT_EQ(table->instances[1].devices[0].id, 4);
}

TEST(Generate, MakesOneServerOfNodesThatShareIt) {
  const auto table = merge_servers({make_server("a", {0, 1}, {}), make_server("a", {2, 3}, {})}, {"node 0", "node 1"});
  ASSERT_TRUE(table) << "one server needs no addresses";
  ASSERT_EQ(table->instances.size(), 1U);
  EXPECT_EQ(table->instances[0].devices[3].rank, 3);
  EXPECT_EQ(error_of(merge_servers({make_server("a", {0, 1}, {}), make_server("a", {1}, {})}, {"node 0", "node 1"})),
            "cannot generate a rank table: node 1 has device 1 of a, which another node has already");
}

TEST(Generate, NeedsAddressesBetweenServers) {
  EXPECT_EQ(error_of(merge_servers({make_server("a", {0}, {{0, "1.1.1.1"}}), make_server("b", {0}, {})},
                                   {"node 0", "node 1"})),
            "cannot generate a rank table for 2 servers: device 0 of b has no address, expected one "
            "in /etc/hccn.conf");
  EXPECT_EQ(error_of(merge_servers({make_server("a", {0}, {{0, "1.1.1.1"}}), make_server("b", {3}, {{3, "1.1.1.1"}})},
                                   {"node 0", "node 1"})),
            "cannot generate a rank table: device 3 of b has the address 1.1.1.1, as device 0 of a "
            "has");
}

TEST(Generate, NeedsOtherAddressesOfAllDevicesOfOneServer) {
  EXPECT_EQ(error_of(merge_servers({make_server("a", {0, 1}, {{0, "1.1.1.1"}, {1, "1.1.1.1"}})}, {"node 0"})),
            "cannot generate a rank table: device 1 of a has the address 1.1.1.1, as device 0 of a "
            "has");
  EXPECT_EQ(error_of(merge_servers({make_server("a", {0, 1}, {{0, "fe80::1"}, {1, "fe80:0::1"}})}, {"node 0"})),
            "cannot generate a rank table: device 1 of a has the address fe80:0::1, as device 0 of "
            "a has");
}

}  // namespace
}  // namespace muster::rank_table
