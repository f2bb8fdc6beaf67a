// Ports that the nodes contribute, and the merged list that all of them read.
#include "exchange/exchanged_values.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using gang::NodePart;

std::string merged_of(const std::vector<NodePart>& parts) {
  const auto merged = ports_key().merge(parts);
  return merged ? *merged : merged.error().message;
}

TEST(ExchangedPorts, AreReadWithTheAddressThatTheLeaderSees) {
  const std::string first = write_ports({"", {5'001, 5'002}, 2});
  const std::string second = write_ports({"of itself", {7'000}, 1});

  const auto nodes = read_ports(merged_of({{{0}, "", first}, {{1}, "fd00::2", second}}));

  ASSERT_TRUE(nodes);
  EXPECT_EQ(*nodes, (std::vector<NodePorts>{{"", {5'001, 5'002}, 2}, {"fd00::2", {7'000}, 1}}));
}

TEST(ExchangedPorts, HaveLimitsThatTheMostPortsFit) {
  const NodePorts most{"", std::vector<std::uint16_t>(kMostPortsOfNode, 65'535), 1'000'000};
  EXPECT_LE(write_ports(most).size(), ports_key().most_of_node);
  const std::string longest = "fe80:1234:1234:1234:1234:1234:1234:1234%wlp0s20f0u3";
  const std::string one = write_ports({"", {65'535}, 8});
  std::vector<NodePart> parts;
  for (int node = 0; node < 10'000; ++node) {
    parts.push_back({{node}, longest, one});
  }
  EXPECT_LE(merged_of(parts).size(), ports_key().most_merged);
}

TEST(ExchangedPorts, AreRefusedWhereTheyAreMissingOrTorn) {
  const std::string fine = write_ports({"", {5'001}, 2});
  for (const std::string wrong :
       {"", "[]", "{}", R"({"host":"","slots":0,"ports":[]})", R"({"host":"","slots":1,"ports":[65536]})",
        R"({"host":"","slots":1,"ports":["1"]})", R"({"host":1,"slots":1,"ports":[]})", R"({"host":"","slots":1})"}) {
    EXPECT_EQ(merged_of({{{0}, "", fine}, {{1}, "", wrong}}), "of node 1 are missing or torn") << wrong;
    EXPECT_FALSE(read_ports("[" + wrong + ",1]")) << wrong;
  }
  EXPECT_FALSE(read_ports("{}"));
}

}  // namespace
}  // namespace muster
