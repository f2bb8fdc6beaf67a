// --total-workers: the job is complete with so many workers, on whatever nodes.
#include "platforms/snapshots.hpp"

#include <chrono>

namespace muster {
namespace {

std::string total(const Texts& options, const Texts& variables = {}) {
  const auto cluster = describe_cluster(node_with(variables), flags(options));
  if (!cluster) {
    return std::to_string(cluster.error().exit_code()) + ": " + cluster.error().message;
  }
  return in_one_line(*cluster) + ", from " + std::to_string(cluster->job.least_nodes) + " nodes, total " +
         (cluster->job.total_slots ? std::to_string(*cluster->job.total_slots) : "open");
}

TEST(TotalWorkers, ReplaceAnUnknownNumberOfNodes) {
  EXPECT_EQ(total({{"total-workers", "64"}, {"node-rank", "3"}, {"master-addr", "a"}}),
            "node 3 of 64, 8 slots, a:29500, flags, from 1 nodes, total 64");

  const auto cluster = describe_cluster(node_with({}), flags({{"total-workers", "64"}, {"master-addr", "a"}}));
  ASSERT_TRUE(cluster);
  EXPECT_FALSE(cluster->node.rank.has_value());
  EXPECT_EQ(cluster->slots.size(), 64U);
  EXPECT_EQ(cluster->hosts.size(), 64U);
  EXPECT_EQ(source_of(*cluster, "slots.total"), "--total-workers");
  EXPECT_EQ(source_of(*cluster, "nodes.count"), "--total-workers");
}

TEST(TotalWorkers, ThatAreAllHereMakeAJobOfOneNode) {
  EXPECT_EQ(total({{"total-workers", "8"}}), "node 0 of 1, 8 slots, 127.0.0.1:fresh, flags, from 1 nodes, total open");
  EXPECT_EQ(total({{"total-workers", "8"}, {"node-rank", "1"}}),
            "node 0 of 1, 8 slots, 127.0.0.1:fresh, flags, from 1 nodes, total open");
}

TEST(TotalWorkers, CompleteNodesThatAreGiven) {
  EXPECT_EQ(total({{"total-workers", "12"}, {"nnodes", "2"}, {"node-rank", "1"}, {"master-addr", "a"}}),
            "node 1 of 2, 8 slots, a:29500, flags, from 2 nodes, total 12");
  EXPECT_EQ(total({{"total-workers", "16"}, {"nnodes", "1:4"}, {"master-addr", "a"}}),
            "node 0 of 4, 8 slots, a:29500, flags, from 1 nodes, total 16");
  EXPECT_EQ(total({{"total-workers", "16"}}, {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}),
            "node 1 of 2, 8 slots, a:29500, bare, from 2 nodes, total 16");
}

TEST(TotalWorkers, AreRefusedWhereTheyCannotBe) {
  const Texts leader = {{"master-addr", "a"}};
  const auto refused = [&](Texts options) {
    options.insert(leader.begin(), leader.end());
    return total(options);
  };
  EXPECT_EQ(refused({{"total-workers", "7"}}),
            "64: /dev/nvidia[0-9]* is '8' but --total-workers is '7': one node has no more workers "
            "than the job");
  EXPECT_EQ(refused({{"total-workers", "16"}, {"nnodes", "1"}}),
            "64: /dev/nvidia[0-9]* is '8' but --total-workers is '16': the job has one node, so "
            "both numbers must be equal");
  EXPECT_EQ(refused({{"total-workers", "9"}, {"nnodes", "3"}, {"node-rank", "0"}}),
            "64: --nnodes is '3' but --total-workers is '9': each node has one worker at least, and "
            "this one has 8");
  EXPECT_EQ(refused({{"total-workers", "64"}, {"node-rank", "64"}}),
            "64: --node-rank is '64' but --total-workers is '64': a rank must be below its count");
  EXPECT_EQ(total({{"total-workers", "64"}}),
            "64: --total-workers is '64', but nothing says where the leader is; give "
            "--master-addr");
  for (const std::string text : {"", "0", "-1", "+8", " 8", "08", "8.0", "x", "10000001", "8:16"}) {
    EXPECT_EQ(refused({{"total-workers", text}}),
              "64: --total-workers is '" + text + "', expected a number of workers from 1 to 10000000");
  }
}

TEST(TotalWorkers, MayBeMany) {
  EXPECT_EQ(total({{"total-workers", "10000"}, {"node-rank", "9999"}, {"master-addr", "a"}}),
            "node 9999 of 10000, 8 slots, a:29500, flags, from 1 nodes, total 10000");
  EXPECT_EQ(total({{"total-workers", "10000000"}, {"node-rank", "7"}, {"master-addr", "a"}}),
            "node 7 of 1000000, 8 slots, a:29500, flags, from 1 nodes, total 10000000");
}

}  // namespace
}  // namespace muster
