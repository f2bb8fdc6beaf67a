// A worker that the platform has placed: one agent a process, several on a host.
#include "modes/mode_template.hpp"
#include "plans.hpp"

namespace muster {
namespace {

/// Task 9 of 16 on the second of two hosts.
Cluster placed_cluster(int slots = 1) {
  Cluster cluster = cluster_of(std::vector<int>(16, slots), 9);
  cluster.share = HostShare{{1, {}}, {8, {}}, 1, 2, {}};
  cluster.job.are_tasks = true;
  return cluster;
}

LaunchPlan torchrun_plan(const Cluster& cluster, const Snapshot& snapshot,
                         const JobRequest& job = job_of({"python3"})) {
  return make_plan({cluster, *choose_mode({}), job, snapshot});
}

std::string variable(const LaunchPlan& plan, const std::string& name) {
  return plan.workers.at(0).environment.at(name);
}

TEST(PlacedWorker, IsOneWorkerOfTheWholeJob) {
  const LaunchPlan plan = torchrun_plan(placed_cluster(), surroundings());
  ASSERT_EQ(plan.workers.size(), 1U);
  EXPECT_EQ(variable(plan, "RANK"), "9");
  EXPECT_EQ(variable(plan, "WORLD_SIZE"), "16");
  EXPECT_EQ(variable(plan, "LOCAL_RANK"), "1");
  EXPECT_EQ(variable(plan, "LOCAL_WORLD_SIZE"), "8");
  EXPECT_EQ(variable(plan, "GROUP_RANK"), "1");
  EXPECT_EQ(variable(plan, "GROUP_WORLD_SIZE"), "2");
  EXPECT_EQ(plan.workers[0].local_rank, LocalRank{1});
  EXPECT_EQ(plan.workers[0].log.out, "attempt_0/worker_9.out") << "no other agent writes this file";
  EXPECT_TRUE(
      plan.notices.at(0).starts_with("flags: task 9 of 16 (1 of 8 on this host), 1 worker here, leader head:29500"))
      << plan.notices[0];
}

TEST(PlacedWorker, CountsAsAHostWithoutHostCounts) {
  Cluster cluster = placed_cluster();
  cluster.share->host_rank.reset();
  const LaunchPlan plan = torchrun_plan(cluster, surroundings());
  EXPECT_EQ(variable(plan, "GROUP_RANK"), "9");
  EXPECT_EQ(variable(plan, "GROUP_WORLD_SIZE"), "16");
}

TEST(PlacedWorker, BelievesTheGangThatFindsAsManyTasksOnItsHost) {
  Cluster cluster = placed_cluster();
  cluster.share->hosts.reset();
  const PlanInput input{cluster, *choose_mode({}), job_of({"python3"}), surroundings()};
  Placement placement = assume_placement(cluster);
  placement.host = {1, 2, 8};
  EXPECT_EQ(variable(make_plan(input, placement), "GROUP_RANK"), "1");
  EXPECT_EQ(variable(make_plan(input, placement), "GROUP_WORLD_SIZE"), "2");
  placement.host = {0, 1, 16};
  EXPECT_EQ(variable(make_plan(input, placement), "GROUP_WORLD_SIZE"), "16") << "names are alike";
}

TEST(PlacedWorker, UsesTheDeviceThatItSees) {
  Cluster cluster = placed_cluster();
  cluster.share->local_rank.value = 5;
  Snapshot snapshot = surroundings();
  const auto local_rank = [&] { return variable(torchrun_plan(cluster, snapshot), "LOCAL_RANK"); };
  EXPECT_EQ(local_rank(), "5") << "no device";
  snapshot.devices.nvidia = 8;
  EXPECT_EQ(local_rank(), "5");
  snapshot.devices.nvidia = 4;
  EXPECT_EQ(local_rank(), "1") << "two share one";
  snapshot.variables["CUDA_VISIBLE_DEVICES"] = "3";
  EXPECT_EQ(local_rank(), "0") << "the platform shows each its own";
}

TEST(PlacedWorker, IsShownItsOwnDevice) {
  Cluster cluster = placed_cluster();
  cluster.share->local_rank.value = 5;
  JobRequest job = job_of({"python3"});
  job.masks_devices = true;
  Snapshot snapshot = surroundings();
  snapshot.devices.nvidia = 8;
  const LaunchPlan of_all = torchrun_plan(cluster, snapshot, job);
  EXPECT_EQ(variable(of_all, "CUDA_VISIBLE_DEVICES"), "5");
  EXPECT_EQ(variable(of_all, "LOCAL_RANK"), "0");
  snapshot.variables["CUDA_VISIBLE_DEVICES"] = "3";
  const ChosenMode mode = *choose_mode({});
  EXPECT_TRUE(check_job({cluster, mode, job, snapshot})) << "its own one is enough";
  EXPECT_EQ(variable(torchrun_plan(cluster, snapshot, job), "CUDA_VISIBLE_DEVICES"), "3");
}

std::string threads(int allowed, int of_parent, std::optional<int> said = {}) {
  Cluster cluster = placed_cluster();
  cluster.share->cores = said;
  Snapshot snapshot = surroundings();
  snapshot.cores = {.count = allowed, .source = "affinity", .of_parent = of_parent};
  return variable(torchrun_plan(cluster, snapshot), "OMP_NUM_THREADS");
}

TEST(PlacedWorker, SharesTheCoresOfItsHost) {
  EXPECT_EQ(threads(64, 64), "8") << "all 8 may use the same ones";
  EXPECT_EQ(threads(64, 0), "8") << "nobody knows";
  EXPECT_EQ(threads(8, 64), "8") << "bound to its own";
  EXPECT_EQ(threads(1, 64), "1");
  EXPECT_EQ(threads(32, 64), "8") << "bound to a socket with three others";
  EXPECT_EQ(threads(2, 2), "1") << "never 0";
  EXPECT_EQ(threads(64, 64, 4), "4") << "by the platform";
  EXPECT_EQ(threads(2, 64, 4), "2") << "but no more than it may use";
}

TEST(PlacedWorker, IsBoundAsOneOfItsHost) {
  JobRequest job = job_of({"python3"});
  job.binding.emplace();
  for (int i = 0; i < 8; ++i) {
    job.binding->devices.push_back(CpuBinding{{i}, {}, false, "test", {}});
  }
  const LaunchPlan plan = torchrun_plan(placed_cluster(), surroundings(), job);
  ASSERT_TRUE(plan.workers[0].binding);
  EXPECT_EQ(plan.workers[0].binding->cpus, std::vector{1});
}

TEST(PlacedWorker, NumbersMoreProcessesOfOneAgentBehindThoseOfTheHost) {
  const LaunchPlan plan =
      make_plan({placed_cluster(), mode_of({role("worker", RoleCount::PerDevice), role("helper", RoleCount::PerNode)}),
                 job_of({"python3"}), surroundings()});
  EXPECT_EQ(described(plan),
            (std::vector<std::string>{"worker 9: role 9/16, local 1/16", "helper 25: role 9/16, local 9/16"}));
}

}  // namespace
}  // namespace muster
