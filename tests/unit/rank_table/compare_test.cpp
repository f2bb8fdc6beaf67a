// The first difference between the rank tables of two nodes, and the nodes and values that the message names.
#include "rank_table/compare.hpp"

#include "base/encoding.hpp"
#include "rank_table/read.hpp"
#include "rank_table/rewrite.hpp"

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

std::string difference_of_texts(const std::string& one, const std::string& other) {
  return describe_difference(summarise(one), "node 0", summarise(other), "node 2");
}

std::string difference(const Table& one, const Table& other) {
  return difference_of_texts(write(one), write(other));
}

/// The text with one part of it replaced.
std::string with(std::string text, const std::string& old, const std::string& replacement) {
  const auto at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), replacement);
}

std::string canonical(const std::string& text) {
  return rewrite(text, std::get<Table>(read(text, "table")));
}

/// A rank of form 2.0.
std::string rank_of(int rank) {
  const std::string number = std::to_string(rank);
  return R"({"rank_id":)" + number + R"(,"local_id":)" + number + R"(,"device_id":)" + number +
         R"(,"level_list":[{"net_layer":0,"net_instance_id":"s","rank_addr_list":[{"addr":"ff)" + number + R"("}]}]})";
}

const std::string kComparedRanks =
    R"({"status":"completed","version":"2.0","rank_count":2,"rank_list":[)" + rank_of(0) + "," + rank_of(1) + "]}";

/// A sentence that ends in the digest of each.
std::string by_digests(const std::string& what, const std::string& one, const std::string& other) {
  return "the digest of " + what + " is " + one + " on node 0 and " + other + " on node 2";
}

std::string by_whole_digests(const std::string& one, const std::string& other) {
  return by_digests("the whole table", summarise(one).digest, summarise(other).digest);
}

TEST(Compare, FindsNothingBetweenEqualTables) {
  EXPECT_EQ(difference(table_of(2), table_of(2)), "");
  EXPECT_EQ(difference(table_of(500), table_of(500)), "");
  EXPECT_EQ(difference_of_texts(kComparedRanks, kComparedRanks), "");
}

TEST(Compare, NamesNoServerWhereTheFormHasNone) {
  const std::string one = with(kComparedRanks, R"("net_instance_id":"s",)", "");
  EXPECT_EQ(difference_of_texts(one, with(one, R"("device_id":0)", R"("device_id":3)")),
            "rank 0 is device 0 on node 0 and device 3 on node 2");
}

TEST(Compare, NamesTheFirstRankThatIsAnotherDevice) {
  Table other = table_of(2);
  other.instances[1].devices[3].id = 7;
  other.instances[1].devices[4].addresses = "1.2.3.4";
  EXPECT_EQ(difference(table_of(2), other),
            "rank 11 is device 3 of 10.0.0.1 (192.168.1.3) on node 0 and device 7 of 10.0.0.1 "
            "(192.168.1.3) on node 2");
}

TEST(Compare, SeesTheOrderOfTheServers) {
  Table other = table_of(2);
  std::swap(other.instances[0], other.instances[1]);
  EXPECT_EQ(difference(table_of(2), other), by_whole_digests(write(table_of(2)), write(other)));
}

TEST(Compare, NamesTheNumberOfRanksFirst) {
  EXPECT_EQ(difference(table_of(2), table_of(1)), "there are 16 ranks on node 0 and 8 on node 2");
}

TEST(Compare, NamesTheNumberOfServers) {
  Table other = table_of(1);
  for (Device& device : other.instances[0].devices) {
    device.id += 8;
    device.rank += 8;
  }
  other.instances.push_back(other.instances[0]);
  other.instances[0].devices = table_of(1).instances[0].devices;
  other.instances[1].server_id = "10.0.0.9";
  Table one = other;
  one.instances[1].server_id = one.instances[0].server_id;
  EXPECT_EQ(difference(one, other), "there is 1 server on node 0 and 2 on node 2");
}

/// Tables of groups and of servers are equal once both are rewritten, because workers read only the rewritten one.
TEST(Compare, TakesGroupsForTheServersThatTheyBecome) {
  const std::string groups = R"({"status":"completed","group_count":"1","group_list":[
    {"group_name":"w","device_count":"1","instance_count":"1","instance_list":[
      {"pod_name":"job-0","server_id":"a","devices":[{"device_id":"0","device_ip":"1.1.1.1"}]}]}]})";
  const std::string servers = R"({"version":"1.0","status":"completed","server_list":[
    {"device":[{"rank_id":"0","device_ip":"1.1.1.1","device_id":"0"}],"server_id":"a"}],"server_count":"1"})";
  EXPECT_EQ(difference_of_texts(canonical(groups), canonical(servers)), "");
}

TEST(Compare, NamesOtherFormsByTheirVersion) {
  EXPECT_EQ(difference_of_texts(kComparedRanks, with(with(kComparedRanks, "ff0", "ff2"), "\"2.0\"", "\"2.1\"")),
            "version is 2.0 on node 0 and 2.1 on node 2");
}

TEST(Compare, SeesSuperDevicesAndSuperPods) {
  Table one = table_of(1);
  one.instances[0].devices[0].super_device_id = "5";
  one.super_pods = {{"0", {"10.0.0.0"}}};
  Table other = one;
  other.instances[0].devices[0].super_device_id = "6";
  EXPECT_NE(difference(one, other).find("(192.168.0.0, super device 6) on node 2"), std::string::npos);
  other = one;
  other.super_pods[0].id = "1";
  EXPECT_EQ(difference(one, other), by_whole_digests(write(one), write(other)));
}

TEST(Compare, NamesTheRankWhereTheDeviceIsTheSame) {
  const std::string other = with(kComparedRanks, "\"ff1\"", "\"ee1\"");
  EXPECT_EQ(
      difference_of_texts(kComparedRanks, other),
      by_digests("rank 1", digest_of(summarise(kComparedRanks).ranks.at(1)), digest_of(summarise(other).ranks.at(1))));
  EXPECT_EQ(difference_of_texts(kComparedRanks, with(kComparedRanks, "\"device_id\":1", "\"device_id\":7")),
            "rank 1 is device 1 of s on node 0 and device 7 of s on node 2");
}

TEST(Compare, SeesAFieldOfAServerAndOfTheTable) {
  const std::string one = write(table_of(2));
  const std::string server = with(one, R"("server_id": "10.0.0.1")", R"("server_id": "10.0.0.1","host_ip":"1.1.1.1")");
  EXPECT_EQ(difference_of_texts(one, server), by_whole_digests(one, server));
  const std::string table = with(one, "{", R"({"x":[1],)");
  EXPECT_EQ(difference_of_texts(one, table), by_whole_digests(one, table));
}

TEST(Compare, SendsNoLinesOfALargeTable) {
  const Table one = table_of(500);
  Table other = one;
  other.instances[300].devices[5].addresses = "1.2.3.4";
  const Summary summary = summarise(write(one));
  EXPECT_FALSE(summary.is_short);
  EXPECT_TRUE(summary.ranks.empty());
  EXPECT_TRUE(summary.servers.empty());
  EXPECT_EQ(difference(one, other), by_whole_digests(write(one), write(other)));
  EXPECT_EQ(difference(one, table_of(499)), "there are 4000 ranks on node 0 and 3992 on node 2");
}

TEST(Compare, NamesTheDigestsWhereOneIsShort) {
  const std::string text = write(table_of(60));
  const std::string other = with(text, R"("device_ip":"192.168.7.0")", R"("x":")" + std::string(200'000, 'x') + "\"");
  EXPECT_TRUE(summarise(text).is_short);
  EXPECT_FALSE(summarise(other).is_short);
  EXPECT_EQ(difference_of_texts(text, other), by_whole_digests(text, other));
}

/// Agents of other builds send digests in place of a large table's lines.
TEST(Compare, ComparesALargeTableByItsDigestAlone) {
  const Summary one = summarise(write(table_of(500)));
  Summary other = one;
  other.ranks = {"af63dc4c8601ec8c"};
  EXPECT_EQ(describe_difference(one, "node 0", other, "node 2"), "");
  other.digest = "af63dc4c8601ec8c";
  EXPECT_EQ(describe_difference(one, "node 0", other, "node 2"),
            by_digests("the whole table", one.digest, other.digest));
}

/// A table of another build with the same content has the same digest.
TEST(Compare, KeepsItsDigest) {
  EXPECT_EQ(summarise(kComparedRanks).digest, "d1f4e1e1e21d48e7");
  EXPECT_EQ(summarise(write(table_of(2))).digest, "7d8d774d1a318cc3");
}

TEST(Compare, SurvivesLinesThatAreTorn) {
  const Summary one = summarise(kComparedRanks);
  Summary other = one;
  other.digest = "af63dc4c8601ec8c";
  other.ranks = {"{"};
  EXPECT_EQ(describe_difference(one, "node 0", other, "node 2"),
            "rank 0 is device 0 of s on node 0 and device  on node 2");
  other.ranks.clear();
  EXPECT_EQ(describe_difference(one, "node 0", other, "node 2"),
            by_digests("the whole table", one.digest, other.digest));
}

}  // namespace
}  // namespace muster::rank_table
