// Every number that a platform or a flag gives, in every wrong form.
#include "base/text.hpp"
#include "platforms/snapshots.hpp"

namespace muster {
namespace {

enum class Kind {
  Count,
  Range,  ///< a count or MIN:MAX
  Rank,
  Port,
  Devices,  ///< may be 0
  Workers
};

struct Number {
  std::string name;
  Kind kind;
};

/// A platform's variables, all good, and which of them are numbers.
struct PlatformCase {
  std::string name;
  Texts good;
  std::vector<Number> numbers;
};

const std::vector<PlatformCase>& platform_cases() {
  static const std::vector<PlatformCase> kCases = {
      {"hai",
       {{"MARSV2_RANK", "1"}, {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_IP", "10.0.0.1"}, {"MASTER_PORT", "2222"}},
       {{"WORLD_SIZE", Kind::Count}, {"RANK", Kind::Rank}, {"MARSV2_RANK", Kind::Rank}, {"MASTER_PORT", Kind::Port}}},
      {"pet",
       {{"PET_NNODES", "2"}, {"PET_NODE_RANK", "1"}, {"PET_MASTER_ADDR", "10.0.0.1"}, {"PET_MASTER_PORT", "29500"}},
       {{"PET_NNODES", Kind::Range}, {"PET_NODE_RANK", Kind::Rank}, {"PET_MASTER_PORT", Kind::Port}}},
      {"volcano",
       {{"VC_TASK_INDEX", "1"},
        {"VK_TASK_INDEX", "1"},
        {"VC_WORKER_HOSTS", "job-worker-0.job,job-worker-1.job"},
        {"VC_WORKER_NUM", "2"},
        {"RANK", "1"},
        {"WORLD_SIZE", "2"},
        {"MASTER_PORT", "23456"}},
       {{"VC_TASK_INDEX", Kind::Rank},
        {"VK_TASK_INDEX", Kind::Rank},
        {"VC_WORKER_NUM", Kind::Count},
        {"RANK", Kind::Rank},
        {"WORLD_SIZE", Kind::Count},
        {"MASTER_PORT", Kind::Port}}},
      {"modelarts",
       {{"MA_NUM_HOSTS", "2"},
        {"MA_NUM_GPUS", "8"},
        {"MA_TASK_INDEX", "1"},
        {"VC_TASK_INDEX", "1"},
        {"VK_TASK_INDEX", "1"},
        {"MA_VJ_NAME", "job"},
        {"VC_WORKER_NUM", "2"},
        {"MA_RUN_METHOD", "msrun"},
        {"MSRUN_WORKER_NUM", "16"},
        {"MSRUN_MASTER_PORT", "8118"}},
       {{"MA_NUM_HOSTS", Kind::Count},
        {"MA_NUM_GPUS", Kind::Devices},
        {"MA_TASK_INDEX", Kind::Rank},
        {"VC_TASK_INDEX", Kind::Rank},
        {"VK_TASK_INDEX", Kind::Rank},
        {"VC_WORKER_NUM", Kind::Count},
        {"MSRUN_WORKER_NUM", Kind::Workers},
        {"MSRUN_MASTER_PORT", Kind::Port}}},
      {"modelarts",
       {{"MA_NUM_HOSTS", "2"},
        {"VC_TASK_INDEX", "1"},
        {"MA_VJ_NAME", "job"},
        {"MA_RUN_METHOD", "torchrun"},
        {"MA_TORCHRUN_MASTER_PORT", "18888"}},
       {{"VC_TASK_INDEX", Kind::Rank}, {"MA_TORCHRUN_MASTER_PORT", Kind::Port}}},
      {"bare",
       {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "23456"}},
       {{"WORLD_SIZE", Kind::Count}, {"RANK", Kind::Rank}, {"MASTER_PORT", Kind::Port}}},
  };
  return kCases;
}

/// Texts that are no number of this kind.
std::vector<std::string> bad_texts(Kind kind) {
  std::vector<std::string> texts = {"",   " ",     "x",   "-1",  "+1",  " 1",  "1 ",          "1\n",
                                    "01", "1.0",   "1e0", "0x1", "1,",  "one", "99999999999", "10000001",
                                    "{}", "$RANK", "--",  "1 2", "\xFF"};
  if (kind != Kind::Rank && kind != Kind::Devices) {
    texts.emplace_back("0");
  }
  if (kind == Kind::Devices) {
    texts.emplace_back("65537");
  }
  if (kind == Kind::Count || kind == Kind::Rank) {
    texts.emplace_back("1000001");
  }
  if (kind == Kind::Range) {
    texts.insert(texts.end(), {"0:2", "3:2", "2:", ":2", ":", "a:b", "1:2:3", "1:1000001", "01:2", "-1:2", "1: 2"});
  } else {
    texts.emplace_back("1:2");
  }
  if (kind == Kind::Port) {
    texts.emplace_back("65536");
  }
  return texts;
}

TEST(DescribeCluster, TakesTheGoodValuesOfEveryPlatform) {
  for (const PlatformCase& platform : platform_cases()) {
    const auto cluster = describe_cluster(node_with(platform.good), {});
    ASSERT_TRUE(cluster) << cluster.error().message;
    EXPECT_EQ(cluster->platform, platform.name);
    EXPECT_EQ(cluster->job.most_nodes, 2);
    EXPECT_EQ(cluster->assumed_rank().value, 1);
  }
}

TEST(DescribeCluster, RefusesEachBadNumberInEachVariableOfEachPlatform) {
  for (const PlatformCase& platform : platform_cases()) {
    for (const Number& number : platform.numbers) {
      for (const std::string& text : bad_texts(number.kind)) {
        Texts variables = platform.good;
        variables[number.name] = text;
        const auto cluster = describe_cluster(node_with(variables), {});

        ASSERT_FALSE(cluster) << platform.name << ": " << number.name << "='" << text << "'";
        EXPECT_EQ(cluster.error().exit_code(), 78);
        EXPECT_TRUE(cluster.error().message.starts_with(number.name + " is '" + text + "', expected "))
            << cluster.error().message;
      }
    }
  }
}

TEST(DescribeCluster, RefusesEachBadNumberInEachFlag) {
  const Texts good = {{"nnodes", "2"}, {"node-rank", "1"}, {"master-addr", "a"}, {"master-port", "1"}};
  for (const auto& [flag, kind] : std::map<std::string, Kind>{{"nnodes", Kind::Range},
                                                              {"node-rank", Kind::Rank},
                                                              {"master-port", Kind::Port},
                                                              {"worker-port", Kind::Port},
                                                              {"gang-port", Kind::Port}}) {
    for (const std::string& text : bad_texts(kind)) {
      Texts options = good;
      options[flag] = text;
      const auto cluster = describe_cluster(node_with({}), flags(options));

      ASSERT_FALSE(cluster) << flag << "='" << text << "'";
      EXPECT_EQ(cluster.error().exit_code(), 64);
      EXPECT_TRUE(cluster.error().message.starts_with("--" + flag + " is '" + text + "', expected "))
          << cluster.error().message;
    }
  }
}

TEST(DescribeCluster, BlamesTheEnvironmentForAVariableOfOurOwn) {
  Settings settings = flags({{"node-rank", "1"}, {"master-addr", "a"}});
  settings.set("nnodes", {"x", from_option("MUSTER_NNODES")});

  EXPECT_EQ(described(node_with({}), settings),
            "78: MUSTER_NNODES is 'x', expected a number of nodes from 1 to 1000000, or MIN:MAX such as "
            "2:4");
}

TEST(DescribeCluster, RefusesARankThatIsNotBelowItsCount) {
  for (const PlatformCase& platform : platform_cases()) {
    for (const std::string rank : {"2", "3", "999999"}) {
      Texts variables = platform.good;
      for (const Number& number : platform.numbers) {
        if (number.kind == Kind::Rank) {
          variables[number.name] = rank;
        }
      }
      const auto cluster = describe_cluster(node_with(variables), {});

      ASSERT_FALSE(cluster) << platform.name;
      EXPECT_EQ(cluster.error().exit_code(), 78);
      EXPECT_NE(cluster.error().message.find(" is '" + rank + "' but "), std::string::npos);
      EXPECT_NE(cluster.error().message.find(" is '2': "), std::string::npos);
    }
  }
}

TEST(DescribeCluster, RefusesAddressesThatCannotBe) {
  for (const std::string address : {"", " ", "a b", "a,b", "a/b", "http://a", "a\n", "-a", "a:2222", "[fd00::1]"}) {
    const Texts variables = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", address}};
    const std::string error = described(node_with(variables));
    EXPECT_TRUE(error.starts_with("78: MASTER_ADDR is '" + address + "', expected a host name")) << error;
  }
}

TEST(DescribeCluster, RefusesNamesAndAddressesOfModelArtsThatCannotBe) {
  const Texts good = {{"MA_NUM_HOSTS", "2"},
                      {"MA_VJ_NAME", "job"},
                      {"MA_TASK_NAME", "worker"},
                      {"MA_TASK_INDEX", "1"},
                      {"MA_JOB_ID", "4711"},
                      {"MA_CURRENT_IP", "10.0.0.2"},
                      {"MA_CURRENT_HOST_IP", "10.1.0.2"},
                      {"MA_CURRENT_INSTANCE_NAME", "job-worker-1"},
                      {"VC_WORKER_HOSTS", "a,b"},
                      {"MA_RUN_METHOD", "msrun"},
                      {"MSRUN_MASTER_ADDR", "10.0.0.1"}};
  ASSERT_EQ(described(node_with(good)), "node 1 of 2, 8 slots, 10.0.0.1:29500, modelarts");
  for (const auto& [name, value] : good) {
    if (name == "MA_NUM_HOSTS" || name == "MA_TASK_INDEX" || name == "MA_RUN_METHOD") {
      continue;  // a number, or for the mode to say
    }
    for (const std::string& text :
         {std::string(), std::string(" "), value + " ", " " + value, value + "/", "[" + value + "]"}) {
      if (name == "VC_WORKER_HOSTS" && trim(text) == value) {
        continue;  // blanks separate the names of a list, and do not matter around it
      }
      Texts variables = good;
      variables[name] = text;
      const std::string error = described(node_with(variables));
      EXPECT_TRUE(error.starts_with("78: " + name + " is '" + text + "', expected ")) << error;
    }
  }
}

TEST(DescribeCluster, TakesNamesAndAddressesOfBothVersions) {
  for (const std::string address : {"head", "job-0.job.ns.svc", "10.0.0.1", "fd00::1", "::1", "a_b"}) {
    EXPECT_EQ(described(node_with({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", address}})),
              "node 1 of 2, 8 slots, " + address + ":29500, bare");
  }
}

TEST(DescribeCluster, RefusesMoreWorkersThanItCanCount) {
  EXPECT_EQ(
      described(node_with({}),
                flags({{"nnodes", "1000000"}, {"node-rank", "0"}, {"master-addr", "a"}, {"nproc-per-node", "65536"}})),
      "64: --nnodes is '1000000' but --nproc-per-node is '65536': together more workers than "
      "muster can count");
  EXPECT_EQ(described(node_with({{"RANK", "0"}, {"WORLD_SIZE", "1000000"}, {"MASTER_ADDR", "a"}})),
            "node 0 of 1000000, 8 slots, a:29500, bare");
}

TEST(DescribeCluster, RefusesMoreNodesThanItCanCount) {
  Texts variables = {{"VC_TASK_INDEX", "0"}};
  for (int i = 0; i < 3'000; ++i) {
    variables["VC_T" + std::to_string(i) + "_NUM"] = "1000000";
  }
  const std::string error = described(node_with(variables));

  EXPECT_TRUE(error.starts_with("78: ")) << error;
  EXPECT_TRUE(error.ends_with("expected at most 1000000 nodes"));
}

}  // namespace
}  // namespace muster
