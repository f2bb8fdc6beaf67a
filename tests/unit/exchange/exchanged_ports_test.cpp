// Ports that the nodes contribute, and the merged list that all of them read.
#include "exchange/startup_values.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using gang::NodePart;

std::string write_ports(const NodePorts& node) {
  return contribution_of<PortsValue>(node).bytes;
}

std::string merged_of(const std::vector<NodePart>& parts) {
  const auto merged = key_of<PortsValue>().merge(parts);
  return merged ? *merged : merged.error().message;
}

TEST(ExchangedPorts, AreReadWithTheAddressThatTheLeaderSees) {
  const std::string first = write_ports({"", {5'001, 5'002}, 2});
  const std::string second = write_ports({"of itself", {7'000}, 1});

  const auto nodes = read_agreed<PortsValue>(merged_of({{{0}, "", first}, {{1}, "fd00::2", second}}));

  ASSERT_TRUE(nodes);
  EXPECT_EQ(*nodes, (std::vector<NodePorts>{{"", {5'001, 5'002}, 2}, {"fd00::2", {7'000}, 1}}));
}

TEST(ExchangedPorts, HaveLimitsThatTheMostPortsFit) {
  const NodePorts most{"", std::vector<std::uint16_t>(kMostPortsOfNode, 65'535), 1'000'000};
  EXPECT_LE(write_ports(most).size(), key_of<PortsValue>().most_of_node);
  const std::string longest = "fe80:1234:1234:1234:1234:1234:1234:1234%wlp0s20f0u3";
  const std::string one = write_ports({"", {65'535}, 8});
  std::vector<NodePart> parts;
  for (int node = 0; node < 10'000; ++node) {
    parts.push_back({{node}, longest, one});
  }
  EXPECT_LE(merged_of(parts).size(), key_of<PortsValue>().most_merged);
}

TEST(ExchangedPorts, AreRefusedWhereTheyAreMissingOrTorn) {
  const std::string fine = write_ports({"", {5'001}, 2});
  for (const std::string wrong :
       {"", "[]", "{}", R"({"host":"","slots":0,"ports":[]})", R"({"host":"","slots":1,"ports":[65536]})",
        R"({"host":"","slots":1,"ports":["1"]})", R"({"host":1,"slots":1,"ports":[]})", R"({"host":"","slots":1})"}) {
    EXPECT_TRUE(merged_of({{{0}, "", fine}, {{1}, "", wrong}}).starts_with("of node 1 is missing or torn: ")) << wrong;
    EXPECT_FALSE(read_agreed<PortsValue>("[" + wrong + ",1]")) << wrong;
  }
  EXPECT_FALSE(read_agreed<PortsValue>("{}"));
}

}  // namespace
}  // namespace muster
