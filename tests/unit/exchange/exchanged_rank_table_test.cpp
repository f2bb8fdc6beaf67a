// Rank tables that the nodes contribute, and the merged value or the error.
#include "exchange/exchanged_rank_table.hpp"

#include "rank_table/generate.hpp"
#include "rank_table/read.hpp"
#include "rank_table/rewrite.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using gang::NodePart;
using rank_table::Table;

Table table_of(const std::string& address) {
  Table table;
  table.instances.push_back({"", "10.0.0.1", {}, {{0, 0, address, ""}, {1, 1, "192.168.0.9", ""}}});
  table.size = 2;
  return table;
}

std::string write_summary(const rank_table::Summary& summary, const PartOfTable& part) {
  return contribution_of<RankTableValue>({TableReport{summary, part}}).bytes;
}

Result<SameTable> read_same_table(std::string_view merged) {
  return Encoding<SameTable>::read(merged);
}

std::string summary_of(const std::string& address, std::vector<int> ranks = {0, 1}) {
  return write_summary(rank_table::summarise(rank_table::write(table_of(address))), {std::move(ranks)});
}

std::string server_of(const std::string& id, const std::vector<int>& devices, const rank_table::Addresses& addresses) {
  return contribution_of<RankTableValue>(
             {std::nullopt, LocalServer{rank_table::make_server(id, devices, addresses), "host-a"}})
      .bytes;
}

std::string merged_table(const std::vector<NodePart>& parts) {
  const auto merged = key_of<RankTableValue>().merge(parts);
  return merged ? *merged : merged.error().message;
}

Table table_from(const std::string& text) {
  const auto reading = rank_table::read(text, "generated");
  EXPECT_TRUE(std::holds_alternative<Table>(reading)) << text;
  return std::get<Table>(reading);
}

TEST(ExchangedRankTable, IsItsDigestWhereAllHaveTheSame) {
  const std::string one = summary_of("192.168.0.1", {0});
  const std::string two = summary_of("192.168.0.1", {1});
  const auto same = read_same_table(merged_table({{{0}, "10.0.0.1", one}, {{1}, "10.0.0.2", two}}));
  ASSERT_TRUE(same);
  EXPECT_EQ(same->digest, rank_table::summarise(rank_table::write(table_of("192.168.0.1"))).digest);
  EXPECT_TRUE(same->pod_addresses.empty());
}

TEST(ExchangedRankTable, HasTheAddressesOfTheServersThatAreNamed) {
  const auto of = [](const std::string& server_id, std::vector<int> ranks) {
    return write_summary(rank_table::summarise(rank_table::write(table_of("192.168.0.1"))),
                         {std::move(ranks), server_id});
  };
  const std::string first = of("10.1.0.1", {0});
  const std::string second = of("10.1.0.2", {1});
  const std::string third = of("10.1.0.2", {});
  const auto same =
      read_same_table(merged_table({{{0}, "10.0.0.1", first}, {{1}, "fd00::2", second}, {{2}, "10.0.0.3", third}}));
  ASSERT_TRUE(same);
  EXPECT_EQ(same->pod_addresses, (gang::fields::Named<std::string>{{"10.1.0.1", "10.0.0.1"}, {"10.1.0.2", "fd00::2"}}));
  EXPECT_FALSE(read_same_table("{}"));
}

TEST(ExchangedRankTable, ThatDiffersNamesBothNodesAndBothValues) {
  const std::string one = summary_of("192.168.0.1");
  const std::string other = summary_of("192.168.0.7");
  const auto merged =
      key_of<RankTableValue>().merge({{{0}, "10.0.0.1", one}, {{1}, "10.0.0.2", one}, {{2}, "10.0.0.3", other}});
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().kind, ErrorKind::BadData);
  EXPECT_EQ(merged.error().message,
            "node 0 (10.0.0.1) and node 2 (10.0.0.3) have different rank tables: rank 0 is device 0 "
            "of 10.0.0.1 (192.168.0.1) on node 0 and device 0 of 10.0.0.1 (192.168.0.7) on node 2");
}

TEST(ExchangedRankTable, HasEachRankOnOneNode) {
  const auto merged = [](std::vector<int> one, std::vector<int> two) {
    return merged_table({{{0}, "10.0.0.1", summary_of("192.168.0.1", std::move(one))},
                         {{1}, "10.0.0.2", summary_of("192.168.0.1", std::move(two))}});
  };
  EXPECT_EQ(merged({0, 1}, {1}),
            "node 0 (10.0.0.1) and node 1 (10.0.0.2) would both start rank 1 of the rank table: "
            "expected a part of its own for each node");
  EXPECT_EQ(merged({0}, {}), "no node that takes part would start rank 1 of the rank table, which has 2 ranks");
  EXPECT_EQ(merged({0}, {2}), "of node 1 is missing or torn: the table has no rank 2, expected less than 2");
}

/// Another try may find the node that is late; a job that has all of its nodes stays as it is.
TEST(ExchangedRankTable, IsIncompleteWhereNodesHaveNotCome) {
  const auto kind_of = [](int most_nodes) {
    const std::string one =
        write_summary(rank_table::summarise(rank_table::write(table_of("192.168.0.1"))), {{0}, {}, {}, most_nodes});
    return key_of<RankTableValue>().merge({{{0}, "10.0.0.1", one}}).error().kind;
  };
  EXPECT_EQ(kind_of(2), ErrorKind::Incomplete);
  EXPECT_EQ(kind_of(1), ErrorKind::BadData);
}

TEST(ExchangedRankTable, IsWaitedForWhereANewerOneHasNotComeToAll) {
  const auto of = [](const std::string& address, std::optional<int> version) {
    return write_summary(rank_table::summarise(rank_table::write(table_of(address))), {{0}, {}, version});
  };
  const auto pending = [](const std::string& first, const std::string& second) {
    return key_of<RankTableValue>().pending({{{0}, "10.0.0.1", first}, {{1}, "10.0.0.2", second}});
  };
  EXPECT_EQ(pending(of("192.168.0.1", 3), of("192.168.0.2", 4)),
            "node 1 (10.0.0.2) has version 4 of the rank table, and node 0 (10.0.0.1) still has "
            "version 3");
  EXPECT_EQ(pending(of("192.168.0.1", 3), of("192.168.0.1", 4)), "") << "they are the same";
  EXPECT_EQ(pending(of("192.168.0.1", 3), of("192.168.0.2", 3)), "") << "nobody is late";
  EXPECT_EQ(pending(of("192.168.0.1", 3), of("192.168.0.2", std::nullopt)), "");
  EXPECT_EQ(pending(of("192.168.0.1", 3), "torn"), "");
}

TEST(ExchangedRankTable, IsMadeOfWhatAllNodesHave) {
  const Table table =
      table_from(merged_table({{{0}, "10.0.0.9", server_of("", {0, 1}, {{0, "1.1.1.1"}, {1, "1.1.1.2"}})},
                               {{1}, "10.0.0.2", server_of("given", {3}, {{3, "1.1.2.1"}})}}));
  EXPECT_EQ(table.form, rank_table::Form::Version1);
  EXPECT_EQ(table.size, 3);
  EXPECT_EQ(table.instances.at(0).server_id, "10.0.0.9");
  EXPECT_EQ(table.instances.at(1).server_id, "given");
  EXPECT_EQ(table.instances.at(1).devices.at(0).rank, 2);
  EXPECT_EQ(table.instances.at(1).devices.at(0).addresses, "1.1.2.1");
}

TEST(ExchangedRankTable, NamesTheHostWhereTheAddressMeansNothingElsewhere) {
  for (const char* const address : {"", "127.0.0.1", "::1", "localhost"}) {
    const Table table = table_from(merged_table({{{0}, address, server_of("", {0}, {})}}));
    EXPECT_EQ(table.instances.at(0).server_id, "host-a");
  }
}

TEST(ExchangedRankTable, ReportsWhyNoTableCanBeGenerated) {
  EXPECT_EQ(merged_table({{{0}, "10.0.0.1", server_of("a", {0}, {})}, {{1}, "10.0.0.2", server_of("a", {0}, {})}}),
            "cannot generate a rank table: node 1 (10.0.0.2) has device 0 of a, which another node "
            "has already");
}

TEST(ExchangedRankTable, IsTheSameMatterOnAllNodes) {
  const std::string summary = summary_of("192.168.0.1");
  const std::string server = server_of("", {0}, {});
  EXPECT_EQ(merged_table({{{0}, "10.0.0.1", summary}, {{1}, "10.0.0.2", server}}),
            "node 0 (10.0.0.1) has a rank table, and node 1 (10.0.0.2) generates a rank table: "
            "expected the same on all nodes");
  EXPECT_EQ(merged_table({{{0}, "10.0.0.1", ""}, {{1}, "10.0.0.2", server}}),
            "node 0 (10.0.0.1) has no rank table, and node 1 (10.0.0.2) generates a rank table: "
            "expected the same on all nodes");
}

TEST(ExchangedRankTable, ThatIsTornIsRefused) {
  const std::string fine = server_of("", {0}, {});
  for (const std::string torn : {"{", "[]", "{}", R"({"server":{}})", R"({"summary":{"size":"1"}})"}) {
    EXPECT_TRUE(merged_table({{{0}, "", fine}, {{1}, "", torn}}).starts_with("of node 1 is missing or torn: ")) << torn;
  }
}

TEST(ExchangedRankTable, FitsItsLimits) {
  Table largest;  // whose lines are still sent
  rank_table::Instance& server = largest.instances.emplace_back();
  server.server_id = "a";
  rank_table::Summary told;
  rank_table::Summary next;
  do {
    told = std::exchange(next, {});
    server.devices.push_back({largest.size, largest.size, std::string(5'000, '"'), ""});
    ++largest.size;
    next = rank_table::summarise(rank_table::write(largest));
  } while (next.is_short);
  EXPECT_GT(told.size, 5);
  EXPECT_LE(write_summary(told, {{0}}).size(), key_of<RankTableValue>().most_of_node);

  constexpr int kNodes = 2'048;
  const std::string host = "fe80:1234:1234:1234:1234:1234:1234:";
  std::vector<std::string> servers;
  std::vector<NodePart> parts;
  for (int node = 0; node < kNodes; ++node) {
    rank_table::Addresses addresses;
    for (int device = 0; device < 8; ++device) {
      addresses[device] =
          "10." + std::to_string(node / 128) + "." + std::to_string(node % 128) + "." + std::to_string(device);
    }
    servers.push_back(server_of(host + std::to_string(node), {0, 1, 2, 3, 4, 5, 6, 7}, addresses));
  }
  for (int node = 0; node < kNodes; ++node) {
    parts.push_back({{node}, "10.0.0.1", servers[static_cast<std::size_t>(node)]});
  }
  const auto merged = key_of<RankTableValue>().merge(parts);
  ASSERT_TRUE(merged) << merged.error().message;
  // 131,072 devices are eight times as many.
  EXPECT_LE(merged->size() * 8, key_of<RankTableValue>().most_merged);
  EXPECT_EQ(table_from(*merged).size, 8 * kNodes);
}

}  // namespace
}  // namespace muster
