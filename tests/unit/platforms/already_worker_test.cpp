// Another launcher's worker is known by two plain integers.
#include "platforms/snapshots.hpp"

namespace muster {
namespace {

const Texts kWorkerOfAnother = {{"RANK", "5"},
                                {"LOCAL_RANK", "1"},
                                {"WORLD_SIZE", "8"},
                                {"LOCAL_WORLD_SIZE", "4"},
                                {"MASTER_ADDR", "10.0.0.1"},
                                {"MASTER_PORT", "29511"}};

TEST(IsAlreadyWorker, NeedsBothAsPlainIntegers) {
  EXPECT_TRUE(is_already_worker(node_with({{"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}})));
  EXPECT_TRUE(is_already_worker(node_with(kWorkerOfAnother)));

  EXPECT_FALSE(is_already_worker(node_with({})));
  EXPECT_FALSE(is_already_worker(node_with({{"LOCAL_RANK", "0"}})));
  EXPECT_FALSE(is_already_worker(node_with({{"LOCAL_WORLD_SIZE", "1"}})));
}

TEST(IsAlreadyWorker, TakesNothingElseForAnInteger) {
  for (const std::string value :
       {"", " ", "x", "-1", "+1", " 1", "1 ", "1.0", "0,1,2,3", "{0,1,2,3}", "[0]", "99999999999"}) {
    EXPECT_FALSE(is_already_worker(node_with({{"LOCAL_RANK", value}, {"LOCAL_WORLD_SIZE", "4"}}))) << value;
    EXPECT_FALSE(is_already_worker(node_with({{"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", value}}))) << value;
  }
}

TEST(DescribeCluster, GivesAJobInsideAWorkerItsOwnWorld) {
  EXPECT_EQ(described(node_with(kWorkerOfAnother), flags({{"nproc-per-node", "2"}})),
            "node 0 of 1, 2 slots, 127.0.0.1:fresh, single");
}

TEST(DescribeCluster, GivesAJobInsideAWorkerItsOwnWorldOnEveryPlatform) {
  for (const auto& [name, value] :
       Texts{{"MARSV2_RANK", "1"}, {"PET_NNODES", "2"}, {"VC_TASK_INDEX", "1"}, {"WORLD_SIZE", "8"}}) {
    Texts variables = kWorkerOfAnother;
    variables[name] = value;
    EXPECT_EQ(described(node_with(variables), flags({{"nproc-per-node", "2"}})),
              "node 0 of 1, 2 slots, 127.0.0.1:fresh, single");
  }
}

TEST(DescribeCluster, TakesFlagsInsideAWorker) {
  EXPECT_EQ(described(node_with(kWorkerOfAnother),
                      flags({{"nproc-per-node", "2"}, {"nnodes", "2"}, {"node-rank", "1"}, {"master-addr", "a"}})),
            "node 1 of 2, 2 slots, a:29500, flags");
}

}  // namespace
}  // namespace muster
