// Two agents of a job on one host whose workers are given the same accelerators.
#include "gang/protocol/leader_scenario.hpp"

namespace muster::gang {
namespace {

NodeFacts node_with(std::vector<std::string> devices, const std::string& view = "host a") {
  NodeFacts node;
  node.host = "gpu-7";
  node.devices = std::move(devices);
  node.device_view = view;
  return node;
}

TEST(SharedDevices, NameTheNodesTheHostAndTheDevices) {
  EXPECT_EQ(describe_shared_devices({node_with({"0", "1", "2", "10"}), node_with({"10", "2", "1"})}),
            "nodes 0-1 are on one host, gpu-7, and their workers are given the same devices 1-2, 10: start one muster "
            "on each host, or give each its own devices by --devices");
  EXPECT_EQ(describe_shared_devices({node_with({"1"}, "host b"), node_with({"GPU-5b6f"}), node_with({"GPU-5b6f"})}),
            "nodes 1-2 are on one host, gpu-7, and their workers are given the same device GPU-5b6f: start one muster "
            "on each host, or give each its own devices by --devices");
}

TEST(SharedDevices, AreNoneWhereNoNumberMeansTheSameDevice) {
  EXPECT_EQ(describe_shared_devices({}), "");
  EXPECT_EQ(describe_shared_devices({node_with({"0", "1"}), node_with({"2", "3"})}), "");
  EXPECT_EQ(describe_shared_devices({node_with({"0"}), node_with({"0"}, "another container of host a")}), "");
  EXPECT_EQ(describe_shared_devices({node_with({"0"}, ""), node_with({"0"}, "")}), "");
  EXPECT_EQ(describe_shared_devices({node_with({}), node_with({})}), "");
}

TEST(SharedDevices, AreSaidToAllNodesAtTheFirstStartAlone) {
  LeaderScenario scenario(restarting(job_of(3)));
  for (const LinkId link : {LinkId{1}, LinkId{2}}) {
    Join join = scenario.join_of(link, static_cast<int>(link));
    join.node.devices = {"0", "1"};
    join.node.device_view = "host a";
    const std::string answer = scenario.arrive(link, join);
    EXPECT_EQ(answer.find("announce: nodes 1-2 are on one host, host-b") != std::string::npos, link == 2) << answer;
  }
  EXPECT_EQ(scenario.fail_all(0).find("announce"), std::string::npos);
}

}  // namespace
}  // namespace muster::gang
