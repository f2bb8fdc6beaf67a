// What two nodes say of their tables, and the first difference of them.
#include <muster/rank_table/compare.hpp>

#include <gtest/gtest.h>

namespace muster::rank_table {
namespace {

/// `servers` of eight devices each.
Table table_of(int servers) {
  Table table;
  for (int server = 0; server < servers; ++server) {
    Instance& instance = table.instances.emplace_back();
    instance.server_id = "10.0.0." + std::to_string(server);
    for (int id = 0; id < 8; ++id) {
      const std::string address = "192.168." + std::to_string(server) + "." + std::to_string(id);
      instance.devices.push_back({table.size++, id, address, ""});
    }
  }
  return table;
}

std::string difference(const Table& one,
                       const Table& other,
                       const std::string& text = "",
                       const std::string& other_text = "") {
  return describe_difference(
      summarise(one, text), "node 0", summarise(other, other_text), "node 2");
}

TEST(Compare, FindsNothingBetweenEqualTables) {
  EXPECT_EQ(difference(table_of(2), table_of(2)), "");
  EXPECT_EQ(difference(table_of(500), table_of(500)), "");
  EXPECT_EQ(difference({}, {}), "");
}

TEST(Compare, NamesNoServerWhereTheFormHasNone) {
  Table table;
  table.form = Form::Version2;
  table.size = 1;
  table.instances = {{"", "", {}, {{0, 3, "df001000", ""}}}};
  Table other = table;
  other.instances[0].devices[0].addresses = "df001001";
  EXPECT_EQ(difference(table, other),
            "rank 0 is device 3 (df001000) on node 0 and device 3 (df001001) on node 2");
}

TEST(Compare, NamesTheFirstRankThatIsAnotherDevice) {
  Table other = table_of(2);
  other.instances[1].devices[3].id = 7;
  other.instances[1].devices[4].addresses = "1.2.3.4";
  EXPECT_EQ(difference(table_of(2), other),
            "rank 11 is device 3 of 10.0.0.1 (192.168.1.3) on node 0 and device 7 of 10.0.0.1 "
            "(192.168.1.3) on node 2");
}

TEST(Compare, GoesByRanksAndNotByTheOrderOfTheFile) {
  Table other = table_of(2);
  std::swap(other.instances[0], other.instances[1]);
  EXPECT_EQ(difference(table_of(2), other), "");
}

TEST(Compare, NamesTheNumberOfRanksFirst) {
  EXPECT_EQ(difference(table_of(2), table_of(1)), "there are 16 ranks on node 0 and 8 on node 2");
}

/// Each would find its devices at another's place.
TEST(Compare, SeesPodsThatAreInterchanged) {
  Table one = table_of(1);
  one.instances[0].devices.resize(1);
  one.instances[0].pod_name = "job-0";
  Table other = one;
  other.instances[0].pod_name = "job-1";
  EXPECT_EQ(difference(one, other),
            "rank 0 is device 0 of 10.0.0.0 (192.168.0.0), pod job-0 on node 0 and device 0 of "
            "10.0.0.0 (192.168.0.0), pod job-1 on node 2");
}

TEST(Compare, SeesSuperDevicesAndSuperPods) {
  Table one = table_of(1);
  one.instances[0].devices[0].super_device_id = "5";
  one.super_pods = {{"0", {"10.0.0.0"}}};
  Table other = one;
  other.instances[0].devices[0].super_device_id = "6";
  EXPECT_NE(difference(one, other).find("(192.168.0.0, super device 6) on node 2"),
            std::string::npos);
  other = one;
  other.super_pods[0].id = "1";
  EXPECT_EQ(difference(one, other),
            "super_pod_list[0] is super pod 0 of 10.0.0.0 on node 0 and super pod 1 of 10.0.0.0 on "
            "node 2");
  other.super_pods.clear();
  EXPECT_EQ(difference(one, other),
            "super_pod_list[0] is super pod 0 of 10.0.0.0 on node 0 and missing on node 2");
}

TEST(Compare, NamesARangeOfALargeTable) {
  const Table one = table_of(500);
  Table other = one;
  other.instances[300].devices[5].addresses = "1.2.3.4";
  const Summary summary = summarise(one, "");
  EXPECT_FALSE(summary.is_short);
  EXPECT_LE(summary.ranks.size(), kMostRanges);
  EXPECT_TRUE(difference(one, other).starts_with("the digest of ranks 2394 to 2456 is "))
      << difference(one, other);
  other = one;
  other.instances.back().devices.back().id = 9;
  EXPECT_TRUE(difference(one, other).starts_with("the digest of ranks 3969 to 3999 is "))
      << difference(one, other);
}

TEST(Compare, SeesWhatMusterDoesNotRead) {
  EXPECT_EQ(difference(table_of(1), table_of(1), "a", "foobar"),
            "the digest of the whole table is af63dc4c8601ec8c on node 0 and 85944171f73967e8 on "
            "node 2");
}

}  // namespace
}  // namespace muster::rank_table
