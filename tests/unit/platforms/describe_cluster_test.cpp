// The choice of the platform, options that replace its values, and values that may be missing. The values of each
// platform are in tests/golden; wrong numbers are in bad_values_test.cpp.
#include "base/text.hpp"
#include "platforms/snapshots.hpp"

#include <tuple>

namespace muster {
namespace {

const Texts kHai = {
    {"MARSV2_RANK", "1"}, {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_IP", "10.0.0.1"}, {"MASTER_PORT", "2222"}};

TEST(DescribeCluster, IsOneNodeByDefault) {
  const auto cluster = describe_cluster(node_with({}), {});

  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->platform, "single");
  EXPECT_EQ(cluster->job.most_nodes, 1);
  EXPECT_EQ(cluster->assumed_rank(), NodeRank{0});
  EXPECT_EQ(cluster->slots, std::vector<int>{8});
  EXPECT_EQ(cluster->master_address, "127.0.0.1");
  EXPECT_EQ(cluster->master_port, std::nullopt);
  EXPECT_EQ(cluster->job.job_id, "none");
  EXPECT_EQ(source_of(*cluster, "platform"), "default");
  EXPECT_EQ(source_of(*cluster, "nodes.slots"), "/dev/nvidia[0-9]*");
}

TEST(DescribeCluster, ReadsTheMostSpecificPlatformFirst) {
  Texts variables = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}};
  EXPECT_EQ(described(node_with(variables)), "node 1 of 2, 8 slots, a:29500, bare");

  variables.insert({{"VC_TASK_INDEX", "1"}, {"VC_WORKER_NUM", "2"}});
  EXPECT_EQ(described(node_with(variables)), "node 1 of 2, 8 slots, a:29500, volcano");

  variables.insert({{"PET_NNODES", "2"}, {"PET_NODE_RANK", "1"}, {"PET_MASTER_ADDR", "p"}});
  EXPECT_EQ(described(node_with(variables)), "node 1 of 2, 8 slots, p:29500, pet");

  variables.insert({{"MA_NUM_HOSTS", "2"}, {"MA_VJ_NAME", "job"}});
  EXPECT_EQ(described(node_with(variables)), "node 1 of 2, 8 slots, job-worker-0.job:29500, modelarts");

  variables.insert({{"MARSV2_RANK", "1"}, {"MASTER_IP", "10.0.0.1"}});
  EXPECT_EQ(described(node_with(variables)), "node 1 of 2, 8 slots, 10.0.0.1:2222, hai");
}

TEST(DescribeCluster, NamesTheVariableThatGaveThePlatformAway) {
  const auto sign = [](const Texts& variables) {
    const auto cluster = describe_cluster(node_with(variables), {});
    return cluster ? source_of(*cluster, "platform") : cluster.error().message;
  };
  EXPECT_EQ(sign(kHai), "MARSV2_RANK");
  EXPECT_EQ(sign({{"MASTER_IP", "10.0.0.1"}, {"MASTER_PORT", "2222"}, {"RANK", "0"}, {"WORLD_SIZE", "1"}}),
            "MASTER_IP");
  EXPECT_EQ(sign({{"PET_NNODES", "1"}}), "PET_NNODES");
  EXPECT_EQ(sign({{"VK_TASK_INDEX", "0"}, {"VC_WORKER_NUM", "1"}}), "VK_TASK_INDEX");
  EXPECT_EQ(sign({{"WORLD_SIZE", "1"}}), "WORLD_SIZE");
}

TEST(DescribeCluster, ReadsOnlyTheGivenPlatform) {
  Texts variables = kHai;
  variables.insert({{"PET_NNODES", "4"}, {"PET_NODE_RANK", "3"}, {"PET_MASTER_ADDR", "p"}});

  EXPECT_EQ(described(node_with(variables), flags({{"platform", "pet"}})), "node 3 of 4, 8 slots, p:29500, pet");
  EXPECT_EQ(described(node_with(variables), flags({{"platform", "single"}})),
            "node 0 of 1, 8 slots, 127.0.0.1:fresh, single");
  EXPECT_EQ(described(node_with(variables), flags({{"platform", "flags"}})),
            "node 0 of 1, 8 slots, 127.0.0.1:fresh, flags");
}

TEST(DescribeCluster, RefusesAPlatformThatIsNotThere) {
  EXPECT_EQ(described(node_with({}), flags({{"platform", "hai"}})),
            "64: --platform is 'hai', but this is missing: MARSV2_*, or MASTER_IP with the bare names");
  EXPECT_EQ(described(node_with(kHai), flags({{"platform", "volcano"}})),
            "64: --platform is 'volcano', but this is missing: VC_TASK_INDEX, VK_TASK_INDEX or VC_<TASK>_HOSTS");
}

TEST(DescribeCluster, TakesARankThatThePlatformCannotFind) {
  const Texts two_tasks = {{"VC_TASK_INDEX", "0"}, {"VC_A_HOSTS", "a-0,a-1"}, {"VC_B_HOSTS", "b-0,b-1"}};
  EXPECT_TRUE(described(node_with(two_tasks)).ends_with("is unknown; give --node-rank"));
  EXPECT_EQ(described(node_with(two_tasks), flags({{"node-rank", "2"}})), "node 2 of 4, 8 slots, a-0:29500, volcano");
}

TEST(DescribeCluster, LeavesOutThePlatformsNumberOfWorkersForOtherNodes) {
  const Texts job = {{"MA_NUM_HOSTS", "2"},
                     {"VC_TASK_INDEX", "1"},
                     {"MA_VJ_NAME", "job"},
                     {"MA_RUN_METHOD", "msrun"},
                     {"MSRUN_WORKER_NUM", "4"}};
  Snapshot snapshot = node_with(job);
  snapshot.devices = {};
  EXPECT_EQ(described(snapshot), "node 1 of 2, 2 slots, job-worker-0.job:29500, modelarts");
  EXPECT_EQ(described(snapshot, flags({{"nnodes", "1"}})), "node 0 of 1, 1 slots, 127.0.0.1:fresh, flags");
}

TEST(DescribeCluster, RefusesSeveralNodesOfASingleOne) {
  EXPECT_EQ(described(node_with({}),
                      flags({{"platform", "single"}, {"nnodes", "2"}, {"node-rank", "0"}, {"master-addr", "a"}})),
            "64: --platform is 'single' but --nnodes is '2': a single node has no others");
}

TEST(DescribeCluster, NamesThePlatformsForAnUnknownOne) {
  const std::string refused = described(node_with({}), flags({{"platform", "slrum"}}));

  EXPECT_TRUE(refused.starts_with("64: --platform is 'slrum', expected one of flags, single, hai, ")) << refused;
  EXPECT_TRUE(refused.ends_with(platform_names().back())) << refused;
}

// Flags and MUSTER_* variables

TEST(DescribeCluster, TakesAWholeClusterFromFlags) {
  const auto cluster = describe_cluster(
      node_with({}), flags({{"nnodes", "3"}, {"node-rank", "2"}, {"master-addr", "head"}, {"master-port", "1234"}}));

  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->platform, "flags");
  EXPECT_EQ(cluster->assumed_rank(), NodeRank{2});
  EXPECT_EQ(cluster->slots, (std::vector<int>{8, 8, 8}));
  EXPECT_EQ(cluster->hosts, (std::vector<std::optional<std::string>>{"head", std::nullopt, std::nullopt}));
  EXPECT_EQ(cluster->master_port, 1234);
  EXPECT_EQ(source_of(*cluster, "platform"), "--nnodes");
  EXPECT_EQ(source_of(*cluster, "nodes.rank"), "--node-rank");
  EXPECT_EQ(source_of(*cluster, "nodes.slots of the others"), "assumed equal to ours");
}

TEST(DescribeCluster, LetsFlagsReplaceThePlatformFieldByField) {
  EXPECT_EQ(described(node_with(kHai), flags({{"master-addr", "other"}})), "node 1 of 2, 8 slots, other:2222, hai");
  EXPECT_EQ(described(node_with(kHai), flags({{"master-port", "1"}})), "node 1 of 2, 8 slots, 10.0.0.1:1, hai");
  EXPECT_EQ(described(node_with(kHai), flags({{"node-rank", "0"}})), "node 0 of 2, 8 slots, 10.0.0.1:2222, hai");
  EXPECT_EQ(described(node_with(kHai), flags({{"nproc-per-node", "4"}})), "node 1 of 2, 4 slots, 10.0.0.1:2222, hai");
  EXPECT_EQ(described(node_with(kHai), flags({{"nnodes", "4"}})), "node 1 of 4, 8 slots, 10.0.0.1:2222, flags");
}

TEST(DescribeCluster, KeepsTheGivenPlatformWhenFlagsReplaceItsCount) {
  for (const Source& source : {from_flag("--platform"), from_option("MUSTER_PLATFORM")}) {
    Settings settings = flags({{"nnodes", "4"}});
    settings.set("platform", {"hai", source});
    EXPECT_EQ(described(node_with(kHai), settings), "node 1 of 4, 8 slots, 10.0.0.1:2222, hai");
  }
}

TEST(DescribeCluster, NamesBothWhenAFlagContradictsThePlatform) {
  EXPECT_EQ(described(node_with(kHai), flags({{"node-rank", "2"}})),
            "64: --node-rank is '2' but WORLD_SIZE is '2': a rank must be below its count");
  EXPECT_EQ(described(node_with({}), flags({{"nnodes", "1"}, {"node-rank", "1"}})),
            "64: --node-rank is '1' but --nnodes is '1': a rank must be below its count");
}

TEST(DescribeCluster, ForgetsTheOtherNodesForAJobOfOneNode) {
  for (const Texts& variables :
       {kHai, Texts{{"VC_TASK_INDEX", "1"}, {"VC_WORKER_HOSTS", "a,b"}, {"MASTER_PORT", "23456"}},
        Texts{{"PET_NNODES", "4"}, {"PET_NODE_RANK", "3"}, {"PET_MASTER_ADDR", "p"}},
        Texts{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}}) {
    const auto cluster = describe_cluster(node_with(variables), flags({{"nnodes", "1"}}));
    ASSERT_TRUE(cluster);
    EXPECT_EQ(cluster->assumed_rank(), NodeRank{0});
    EXPECT_EQ(cluster->master_address, "127.0.0.1");
    EXPECT_EQ(cluster->master_port, std::nullopt);
    EXPECT_EQ(cluster->hosts, (std::vector<std::optional<std::string>>{"127.0.0.1"}));
  }
}

TEST(DescribeCluster, PutsTheRolesThatDecideInOrder) {
  const auto deciding = [](std::vector<std::string> roles) {
    ModeFacts mode;
    mode.success_roles = std::move(roles);
    const auto cluster = describe_cluster(node_with({}), {}, mode);
    return cluster ? cluster->job.success_roles : std::vector<std::string>{"an error"};
  };
  EXPECT_EQ(deciding({"worker", "ps", "worker"}), (std::vector<std::string>{"ps", "worker"}));
  EXPECT_EQ(deciding({"ps", "worker"}), deciding({"worker", "ps"}));
}

TEST(DescribeCluster, NamesTheMissingValueAndItsOption) {
  EXPECT_EQ(described(node_with({{"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}})),
            "78: WORLD_SIZE is '2', but nothing says which of the nodes this is; give --node-rank");
  EXPECT_EQ(described(node_with({}), flags({{"nnodes", "2"}, {"node-rank", "0"}})),
            "64: --nnodes is '2', but nothing says where the leader is; give --master-addr");
  EXPECT_EQ(described(node_with({}), flags({{"nnodes", "2:4"}})),
            "64: --nnodes is '2:4', but nothing says where the leader is; give --master-addr");
  EXPECT_EQ(described(node_with({}), flags({{"node-rank", "1"}})),
            "64: --node-rank is '1', but nothing says how many nodes the job has; give --nnodes");
  EXPECT_EQ(described(node_with({{"RANK", "1"}})),
            "78: RANK is '1', but nothing says how many nodes the job has; give --nnodes");
  EXPECT_EQ(described(node_with({{"VC_TASK_INDEX", "0"}})),
            "78: VC_TASK_INDEX is '0', but nothing says how many nodes the job has; give --nnodes");
  EXPECT_EQ(described(node_with({{"MARSV2_TASK_ID", "7"}})),
            "78: nothing says how many nodes the job has; give --nnodes");
}

TEST(DescribeCluster, TakesAPortAloneForOneNode) {
  EXPECT_EQ(described(node_with({}), flags({{"master-port", "1234"}})), "node 0 of 1, 8 slots, 127.0.0.1:1234, single");
}

TEST(DescribeCluster, UsesTheLoopbackAddressWithAFreshPortOnASingleNode) {
  const Texts alone = {{"VC_TASK_INDEX", "0"}, {"VC_WORKER_HOSTS", "job-worker-0.job"}};
  EXPECT_EQ(described(node_with(alone)), "node 0 of 1, 8 slots, 127.0.0.1:fresh, volcano");
  EXPECT_EQ(described(node_with(alone), flags({{"master-addr", "eth0-name"}})),
            "node 0 of 1, 8 slots, eth0-name:fresh, volcano");
  EXPECT_EQ(described(node_with(alone), flags({{"master-port", "1234"}})),
            "node 0 of 1, 8 slots, job-worker-0.job:1234, volcano");
}

// Nodes that may be fewer, and ranks by arrival

TEST(DescribeCluster, TakesTheLeastAndTheMostNodes) {
  for (const auto& [text, least, most] :
       {std::tuple("2:4", 2, 4), std::tuple("1:4", 1, 4), std::tuple("3:3", 3, 3), std::tuple("3", 3, 3)}) {
    for (const auto& cluster : {describe_cluster(node_with({}), flags({{"nnodes", text}, {"master-addr", "a"}})),
                                describe_cluster(node_with({{"PET_NNODES", text}, {"PET_RDZV_ENDPOINT", "a"}}), {})}) {
      ASSERT_TRUE(cluster) << cluster.error().message;
      EXPECT_EQ(cluster->job.most_nodes, most);
      EXPECT_EQ(cluster->job.least_nodes, least);
      EXPECT_EQ(cluster->slots.size(), static_cast<std::size_t>(most));
      EXPECT_EQ(source_of(*cluster, "nodes.least").empty(), least == most);
    }
  }
}

TEST(DescribeCluster, IsOneNodeWhereTheMostIsOne) {
  const auto cluster = describe_cluster(node_with(kHai), flags({{"nnodes", "1:1"}}));

  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->job.most_nodes, 1);
  EXPECT_EQ(cluster->job.least_nodes, 1);
  EXPECT_TRUE(cluster->node.rank);
  EXPECT_EQ(cluster->gang_port, 0);
}

TEST(DescribeCluster, ForgetsThePlatformsRangeWhenAFlagCounts) {
  const auto cluster =
      describe_cluster(node_with({{"PET_NNODES", "2:4"}, {"PET_RDZV_ENDPOINT", "a"}}), flags({{"nnodes", "3"}}));

  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->job.least_nodes, 3);
}

TEST(DescribeCluster, LetsRanksGoByArrivalWhereAUserDescribesTheJob) {
  for (const auto& cluster : {describe_cluster(node_with({}), flags({{"nnodes", "2"}, {"master-addr", "a"}})),
                              describe_cluster(node_with({{"PET_NNODES", "2"}, {"PET_RDZV_ENDPOINT", "a:1"}}), {})}) {
    ASSERT_TRUE(cluster) << cluster.error().message;
    EXPECT_FALSE(cluster->node.rank);
    EXPECT_EQ(cluster->assumed_rank(), NodeRank{0});
    EXPECT_EQ(source_of(*cluster, "nodes.rank"), "the gang, at start");
  }
}

TEST(DescribeCluster, WantsTheRankOfAPlatformThatGivesOne) {
  constexpr const char* kError = "64: --nnodes is '2', but nothing says which of the nodes this is; give --node-rank";
  const Settings two = flags({{"nnodes", "2"}, {"master-addr", "a"}});

  EXPECT_EQ(described(node_with({{"MARSV2_TASK_ID", "7"}}), two), kError);
  EXPECT_EQ(described(node_with({{"WORLD_SIZE", "2"}}), two), kError);
}

// Ports

TEST(DescribeCluster, KeepsTheRendezvousFromTheWorkers) {
  const auto cluster = describe_cluster(node_with(kHai), {});

  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->master_port, 2222);
  EXPECT_EQ(cluster->gang_port, 2222);
  EXPECT_EQ(cluster->worker_port, std::nullopt);
}

struct PortCase {
  Texts options;
  std::string expected;
};

TEST(DescribeCluster, GivesAgentsAndWorkersAPortEach) {
  const std::vector<PortCase> cases = {
      {{}, "gang 29500"},
      {{{"worker-port", "6000"}}, "gang 29500, workers 6000"},
      {{{"worker-port", "29500"}}, "gang 29501, workers 29500"},
      {{{"worker-port", "6000"}, {"master-port", "6000"}}, "gang 6001, workers 6000"},
      {{{"worker-port", "65535"}, {"master-port", "65535"}}, "gang 65534, workers 65535"},
      {{{"worker-port", "6000"}, {"master-port", "6000"}, {"gang-port", "7"}}, "gang 7, workers 6000"},
      {{{"gang-port", "7"}}, "gang 7"},
  };
  for (const PortCase& ports : cases) {
    Texts options = ports.options;
    options.insert({{"nnodes", "2"}, {"node-rank", "1"}, {"master-addr", "a"}});
    const auto cluster = describe_cluster(node_with({}), flags(options));

    ASSERT_TRUE(cluster) << cluster.error().message;
    EXPECT_EQ("gang " + std::to_string(cluster->gang_port) +
                  (cluster->worker_port ? ", workers " + std::to_string(*cluster->worker_port) : ""),
              ports.expected);
  }
}

TEST(DescribeCluster, RefusesOnePortForAgentsAndWorkers) {
  EXPECT_EQ(described(node_with({}),
                      flags({{"nnodes", "2"}, {"master-addr", "a"}, {"worker-port", "7"}, {"gang-port", "7"}})),
            "64: --worker-port is '7' but --gang-port is '7': workers and agents need a port each");
}

TEST(DescribeCluster, GivesTheWorkersOfOneNodeThePortThatIsGiven) {
  const auto port = [](const Texts& options) { return describe_cluster(node_with({}), flags(options))->worker_port; };
  EXPECT_EQ(port({}), std::nullopt);
  EXPECT_EQ(port({{"master-port", "1234"}}), 1234);
  EXPECT_EQ(port({{"worker-port", "6000"}}), 6000);
  EXPECT_EQ(port({{"worker-port", "6000"}, {"master-port", "1234"}}), 6000);
}

// Restarts

TEST(DescribeCluster, TakesTheRestartsFromTheFlagAndElseFromTorchrunsVariable) {
  const auto restarts = [](const Texts& variables, const Texts& options) {
    return describe_cluster(node_with(variables), flags(options))->max_restarts;
  };
  EXPECT_EQ(restarts({}, {}), 0);
  EXPECT_EQ(restarts({{"PET_MAX_RESTARTS", "5"}}, {}), 5);
  EXPECT_EQ(restarts({{"PET_MAX_RESTARTS", "5"}}, {{"max-restarts", "0"}}), 0);
}

// The leader's address

TEST(DescribeCluster, RefusesLocalhostForAnotherNodesLeader) {
  EXPECT_EQ(described(node_with({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}})),
            "78: MASTER_ADDR is 'localhost' but RANK is '1': only the leader can reach itself by "
            "that name");
}

/// Notices about the leader's address, which the platform gives, on one of two nodes; or the error.
std::string said_of(const std::string& address, const std::string& rank) {
  const auto cluster =
      describe_cluster(node_with({{"RANK", rank}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", address}}), Settings());
  return !cluster ? cluster.error().message : join(cluster->notices, "\n");
}

TEST(DescribeCluster, RemarksOnMoreWorkersThanDevices) {
  Snapshot snapshot = node_with({});
  snapshot.devices.nvidia = 2;
  const auto crowded = describe_cluster(snapshot, flags({{"nproc-per-node", "4"}}));
  EXPECT_EQ(join(crowded->notices, "\n"),
            "--nproc-per-node is '4', and this node has 2 devices: several workers share one, or "
            "have none");
  EXPECT_TRUE(describe_cluster(snapshot, flags({{"nproc-per-node", "2"}}))->notices.empty());
  snapshot.devices.nvidia = 0;
  EXPECT_TRUE(describe_cluster(snapshot, flags({{"nproc-per-node", "4"}}))->notices.empty());
}

TEST(DescribeCluster, RemarksOnTheShellOfSrunPty) {
  const auto remarks_of = [](const std::string& rank, const std::string& terminal) {
    Snapshot snapshot = node_with({{"SLURM_JOB_ID", "7"},
                                   {"SLURM_STEP_ID", "1"},
                                   {"SLURM_STEP_NUM_NODES", "2"},
                                   {"SLURM_STEP_NUM_TASKS", "2"},
                                   {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                                   {"SLURM_STEP_NODELIST", "n[1-2]"},
                                   {"SLURM_NODEID", rank},
                                   {"SLURM_PROCID", rank},
                                   {terminal, "40123"}});
    return join(describe_cluster(snapshot, Settings())->notices, "\n");
  };
  EXPECT_EQ(remarks_of("0", "SLURM_PTY_PORT"),
            "this is task 0 of 2 of 'srun --pty', and muster waits for the others: in its shell, "
            "--nnodes 1 (torchrun's --standalone) starts the job only on this node");
  EXPECT_EQ(remarks_of("1", "SLURM_PTY_PORT"), "");
  EXPECT_EQ(remarks_of("0", "SLURM_SRUN_COMM_PORT"), "");
}

TEST(DescribeCluster, SaysThatALoopbackAddressIsForOneMachine) {
  for (const std::string address : {"127.0.0.1", "127.1.2.3", "::1"}) {
    EXPECT_EQ(said_of(address, "1"),
              "MASTER_ADDR is '" + address +
                  "' in a job of 2 nodes: a machine reaches only itself there, so all of them must "
                  "be on this one");
    EXPECT_EQ(said_of(address, "0"), "") << "the leader may be told so";
  }
  EXPECT_EQ(said_of("127.example.org", "1"), "");
  EXPECT_EQ(said_of("10.0.0.1", "1"), "");
}

TEST(DescribeCluster, RefusesAnUnspecifiedOrLoopbackAddress) {
  for (const std::string address : {"0.0.0.0", "::"}) {
    EXPECT_EQ(said_of(address, "1"),
              "MASTER_ADDR is '" + address + "', expected an address at which the other nodes reach the leader");
    EXPECT_EQ(said_of(address, "0"), "");
  }
  for (const std::string name : {"localhost.localdomain", "ip6-localhost", "a.localhost"}) {
    EXPECT_EQ(said_of(name, "1"),
              "MASTER_ADDR is '" + name + "' but RANK is '1': only the leader can reach itself by that name");
  }
}

TEST(DescribeCluster, TakesLocalhostForSeveralNodesWithARemark) {
  for (const Source& source : {from_flag("--master-addr"), from_option("MUSTER_MASTER_ADDR")}) {
    Settings settings = flags({{"nnodes", "2"}, {"node-rank", "1"}});
    settings.set("master-addr", {"localhost", source});
    EXPECT_EQ(described(node_with({}), settings), "node 1 of 2, 8 slots, localhost:29500, flags");
    EXPECT_EQ(join(describe_cluster(node_with({}), settings)->notices, "\n"),
              source.name +
                  " is 'localhost' in a job of 2 nodes: a machine reaches only itself there, so "
                  "all of them must be on this one");
  }
}

// PET_NPROC_PER_NODE

TEST(DescribeCluster, HonoursTorchrunsSlotsWithoutItsOtherVariables) {
  const std::pair<const std::string, std::string> slots = {"PET_NPROC_PER_NODE", "3"};
  Texts hai = kHai;
  hai.insert(slots);

  EXPECT_EQ(described(node_with({slots})), "node 0 of 1, 3 slots, 127.0.0.1:fresh, single");
  EXPECT_EQ(described(node_with(hai)), "node 1 of 2, 3 slots, 10.0.0.1:2222, hai");
  EXPECT_EQ(described(node_with(hai), flags({{"nproc-per-node", "5"}})), "node 1 of 2, 5 slots, 10.0.0.1:2222, hai");
}

// Volcano, where it is about more than one variable

TEST(DescribeCluster, RefusesAnIndexAboveItsCountDespiteARank) {
  EXPECT_EQ(
      described(node_with(
          {{"VC_TASK_INDEX", "5"}, {"VC_WORKER_NUM", "2"}, {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}})),
      "78: VC_TASK_INDEX is '5' but VC_WORKER_NUM is '2': an index must be below its count");
}

}  // namespace
}  // namespace muster
