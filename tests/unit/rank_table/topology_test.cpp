// Topologies of the network: reading them, finding nodes in them, and the order of a ring.
#include "rank_table/topology.hpp"

#include "rank_table/read.hpp"
#include "rank_table/tables.hpp"

#include <gtest/gtest.h>

#include <variant>

namespace muster::rank_table {
namespace {

SwitchPaths paths_of(const std::string& text) {
  const auto paths = read_switches(text, "t");
  EXPECT_TRUE(paths) << paths.error().message;
  return paths ? *paths : SwitchPaths();
}

std::string message_of(const std::string& text) {
  const auto paths = read_switches(text, "t");
  EXPECT_FALSE(paths) << text;
  return paths ? "" : paths.error().message;
}

TEST(ReadSwitches, IsALineForEachNode) {
  const auto paths = paths_of("# all of them\n\nn0 core/leaf-1 # left\r\n  n1\tcore/leaf-2\nn2 flat");
  EXPECT_EQ(paths.size(), 3U);
  EXPECT_EQ(paths.at("n0"), (std::vector<std::string>{"core", "leaf-1"}));
  EXPECT_EQ(paths.at("n1"), (std::vector<std::string>{"core", "leaf-2"}));
  EXPECT_EQ(paths.at("n2"), std::vector<std::string>{"flat"});
}

TEST(ReadSwitches, NamesTheLineThatIsWrong) {
  EXPECT_EQ(message_of("n0 a\n\nn1\n"),
            "line 3 of 't' is 'n1', expected a node and its switches from the top to the lowest, such as "
            "gpu-0 core/leaf-1");
  for (const std::string line : {"n1 a b", "n1 a//b", "n1 /a", "n1 a/"}) {
    EXPECT_EQ(message_of(line).substr(0, 20), "line 1 of 't' is '" + line.substr(0, 2)) << line;
  }
  EXPECT_EQ(message_of("n0 a\nn0 a\n"), "line 2 of 't' has the node 'n0' once more");
  EXPECT_EQ(paths_of("\xEF\xBB\xBFn0 a").count("n0"), 1U);
  for (const std::string json : {"\xEF\xBB\xBF{}", "\n [1]", "{\"n0\": \"a\"}"}) {
    EXPECT_EQ(message_of(json),
              "'t' is JSON, expected lines of a node and its switches from the top to the lowest, "
              "such as gpu-0 core/leaf-1");
  }
}

/// Form 2.0 names no host, and may have no addresses.
TEST(OrderRing, KnowsANodeByAnAddressOfItsDevices) {
  Table table;
  table.form = Form::Version2;
  table.size = 4;
  table.instances = {{"", "", {}, {{0, 0, "e0", ""}, {1, 1, "e1", ""}}},
                     {"", "", {}, {{2, 0, "", ""}, {3, 1, "", ""}}}};
  const auto missing = order_ring(table, paths_of("e1 a"), "t");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "'t' has no switches for 1 node of the rank table, the first is 'rank 2'");

  table.instances[1].devices[0].addresses = "e2";
  EXPECT_TRUE(order_ring(table, paths_of("e1 a\ne2 b"), "t"));
}

TEST(OrderRing, KeepsNodesOfASwitchTogether) {
  // Every second node hangs on the same switch: the ring goes up and down between all of them.
  const auto paths = paths_of("n0 core/a\nn1 core/b\nn2 core/a\nn3 core/b\nelse x");
  const auto order = order_ring(numbered_table(4, 2), paths, "t");
  ASSERT_TRUE(order) << order.error().message;
  EXPECT_EQ(order->ranks, (std::vector<int>{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(order->hops_before, 12) << "3 switches between all neighbours";
  EXPECT_EQ(order->hops_after, 1 + 3 + 1 + 3);
}

/// Four hosts of one device each, of form 2.0: their networks are "h0" to "h3", their addresses "a0" to "a3".
TableFile hosts_without_names() {
  std::string ranks;
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    ranks += std::string(i == 0 ? "" : ",") + R"({"rank_id":)" + n +
             R"(,"device_id":0,"level_list":[{"net_layer":0,"net_instance_id":"h)" + n +
             R"(","rank_addr_list":[]},{"net_layer":1,"net_instance_id":"all","rank_addr_list":[{"addr":"a)" + n +
             R"("}]}]})";
  }
  TableFile file;
  file.text = R"({"status":"completed","version":"2.0","rank_count":4,"rank_list":[)" + ranks + "]}";
  const Reading reading = read(file.text, "t");
  file.table = std::get<Table>(reading);
  return file;
}

TEST(OrderRing, CallsHostsOfForm2ByTheirNetworks) {
  const TableFile file = hosts_without_names();
  for (const std::string text :
       {"h0 c/a\nh1 c/b\nh2 c/a\nh3 c/b", "a0 c/a\na1 c/b\na2 c/a\na3 c/b", "h0 c/a\na1 c/b\nh2 c/a\na3 c/b"}) {
    const auto order = order_ring(file, {"t", paths_of(text)});
    ASSERT_TRUE(order) << order.error().message;
    EXPECT_EQ(order->ranks, (std::vector<int>{0, 2, 1, 3})) << text;
  }
  EXPECT_EQ(order_ring(file, {"t", paths_of("h0 c/a")}).error().message,
            "'t' has no switches for 3 nodes of the rank table, the first is 'h1'");
}

TEST(OrderRing, KeepsSwitchesOfAParentTogether) {
  const auto paths = paths_of(
      "n0 s0/a\nn1 s1/c\nn2 s0/b\nn3 s1/d\n"
      "n4 s0/a\nn5 s1/c");
  const auto order = order_ring(numbered_table(6, 1), paths, "t");
  ASSERT_TRUE(order);
  EXPECT_EQ(order->ranks, (std::vector<int>{0, 3, 2, 5, 1, 4}));
}

TEST(OrderRing, KeepsAGoodOrder) {
  const auto paths = paths_of("n0 a\nn1 a\nn2 b");
  const auto order = order_ring(numbered_table(3, 1), paths, "t");
  ASSERT_TRUE(order);
  EXPECT_EQ(order->ranks, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(order->hops_before, order->hops_after);
  EXPECT_EQ(order_ring(numbered_table(1, 8), paths, "t")->hops_after, 0);
}

TEST(OrderRing, GoesByTheRanksThatAreThere) {
  Table table = numbered_table(3, 2);
  // The last instance has the first ranks, and devices in reverse.
  table = with_ranks(table, {2, 3, 4, 5, 1, 0});
  const auto order = order_ring(table, paths_of("n0 b\nn1 a\nn2 a"), "t");
  ASSERT_TRUE(order);
  EXPECT_EQ(order->ranks, (std::vector<int>{2, 3, 4, 5, 1, 0})) << "three ways of one ring";
  table = numbered_table(4, 1);
  table = with_ranks(table, {3, 1, 2, 0});
  const auto other = order_ring(table, paths_of("n0 b\nn1 b\nn2 a\nn3 a"), "t");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->ranks, (std::vector<int>{3, 2, 1, 0})) << "rank 0 stays, stable otherwise";
}

TEST(OrderRing, KeepsServersAndSuperPodsTogether) {
  Table table = numbered_table(5, 1);
  const auto paths = paths_of("n0 a\nn1 b\nn2 a\nn3 b\nn4 a");
  EXPECT_EQ(order_ring(table, paths, "t")->ranks, (std::vector<int>{0, 3, 1, 4, 2}));
  table.super_pods = {{"x", {"10.0.0.0", "10.0.0.1", "10.0.0.2"}}, {"y", {"10.0.0.3", "10.0.0.4"}}};
  EXPECT_EQ(order_ring(table, paths, "t")->ranks, (std::vector<int>{0, 2, 1, 3, 4}));
  Table shared = numbered_table(4, 1);
  shared.instances[2].server_id = "10.0.0.0";
  shared.instances[3].server_id = "10.0.0.1";
  const auto two_pods = order_ring(shared, paths_of("10.0.0.0 a\n10.0.0.1 a"), "t");
  ASSERT_TRUE(two_pods);
  EXPECT_EQ(two_pods->ranks, (std::vector<int>{0, 2, 1, 3}));
  EXPECT_EQ(two_pods->hops_before, 4);
  EXPECT_EQ(two_pods->hops_after, 2) << "there and back";
}

TEST(OrderRing, NeedsAllNodes) {
  const auto missing = order_ring(numbered_table(4, 1), paths_of("n0 a\n10.0.0.2 b"), "t");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::BadData);
  EXPECT_EQ(missing.error().message, "'t' has no switches for 2 nodes of the rank table, the first is 'n1'");
  const auto torn = order_ring(numbered_table(1, 1), paths_of("n0 a\n10.0.0.0 b"), "t");
  ASSERT_FALSE(torn);
  EXPECT_EQ(torn.error().message, "'t' has different switches for 'n0' and '10.0.0.0', which are the same node");
}

TEST(OrderRing, KnowsAHostWithoutANameByItsDevices) {
  Table table = numbered_table(1, 1);
  table.instances[0] = {"", "", {}, {{0, 0, "fe80::1,fe80::2", ""}}};
  EXPECT_TRUE(order_ring(table, paths_of("fe80::2 a"), "t"));
  EXPECT_EQ(order_ring(table, {}, "t").error().message,
            "'t' has no switches for 1 node of the rank table, the first is 'fe80::1'");
}

TEST(OrderRing, RefusesRanksThatAreNone) {
  const auto paths = paths_of("n0 a\nn1 b");
  EXPECT_FALSE(order_ring(with_ranks(numbered_table(2, 1), {0, 0}), paths, "t"));
  EXPECT_FALSE(order_ring(with_ranks(numbered_table(2, 1), {0, -1}), paths, "t"));
  EXPECT_FALSE(order_ring(with_ranks(numbered_table(2, 1), {1, 2}), paths, "t"));
}

}  // namespace
}  // namespace muster::rank_table
