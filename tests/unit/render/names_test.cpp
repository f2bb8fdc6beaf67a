// Names, labels, taints and quantities in a manifest.
#include "render/check_fit.hpp"
#include "render/pod.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace muster::render {
namespace {

Sourced<std::string> given(std::string text) {
  return {std::move(text), from_flag("--x")};
}

TEST(ReadName, TakesWhatKubernetesTakesForAService) {
  for (const char* const good : {"a", "train", "train-2", "a1-b2"}) {
    EXPECT_TRUE(read_name(given(good))) << good;
  }
  const std::string most(63, 'a');
  EXPECT_TRUE(read_name(given(most)));
  EXPECT_FALSE(read_name(given(most + "a")));
  EXPECT_FALSE(read_name(given("abc"), 2));
  for (const char* const bad : {"", "A", "1a", "-a", "a-", "a.b", "a_b", "a b", "a\n", "ä", "a#", "$a", "a:b"}) {
    EXPECT_FALSE(read_name(given(bad))) << bad;
  }
}

TEST(ReadName, ReportsTheGivenAndTheExpectedName) {
  EXPECT_EQ(read_name(given("Train\n")).error().message,
            "--x is 'Train\\n', expected a name of small letters, digits and '-' that begins with a "
            "letter, ends with a letter or digit, and has at most 63 characters");
}

TEST(ReadNames, RefuseWhatWouldMeanSomethingInYamlOrAShell) {
  const std::string_view bad[] = {"", "a b", "a;b", "a'b", "a\"b", "$(x)", "a\nb", "{a}", "a#b", "*", "&a"};
  for (const std::string_view text : bad) {
    const auto value = given(std::string(text));
    EXPECT_FALSE(read_image(value)) << text;
    EXPECT_FALSE(read_queue(value)) << text;
    EXPECT_FALSE(read_resource(value)) << text;
    EXPECT_FALSE(read_gres(value)) << text;
    EXPECT_FALSE(read_object_name(value)) << text;
    EXPECT_FALSE(read_quantity(value)) << text;
  }
  EXPECT_TRUE(read_image(given("example/train:1.0@sha256:00ff")));
  EXPECT_TRUE(read_resource(given("huawei.com/ascend-1980")));
  EXPECT_FALSE(read_resource(given("gpu")));
  EXPECT_TRUE(read_gres(given("gpu:a100")));
  EXPECT_TRUE(read_batch_resource(given("ngpus")));
  EXPECT_FALSE(read_batch_resource(given("gpu:a100")));
  EXPECT_TRUE(read_object_name(given("my.secret-1")));
}

TEST(ReadSelector, ReadsLabels) {
  EXPECT_EQ(*read_selector(given("pool=train,example.com/disk=ssd,x=")),
            (std::map<std::string, std::string>{{"pool", "train"}, {"example.com/disk", "ssd"}, {"x", ""}}));
  for (const char* const bad : {"pool", "=a", "a=b,a=c", "a=b c", "a=b,,c=d", "a/b/c=d"}) {
    EXPECT_FALSE(read_selector(given(bad))) << bad;
  }
}

TEST(ReadTolerations, ReadsTaints) {
  EXPECT_EQ(*read_tolerations(given("nvidia.com/gpu,pool=train:NoSchedule,spot:NoExecute")),
            (std::vector<Toleration>{
                {"nvidia.com/gpu", "", ""}, {"pool", "train", "NoSchedule"}, {"spot", "", "NoExecute"}}));
  for (const char* const bad : {"", "a:", "a:Never", "a=b=c d", "=b"}) {
    EXPECT_FALSE(read_tolerations(given(bad))) << bad;
  }
}

TEST(ParseQuantity, ReadsWhatKubernetesWrites) {
  const std::pair<const char*, std::int64_t> known[] = {
      {"0", 0},
      {"8", 8'000},
      {"500m", 500},
      {"0.5", 500},
      {".5", 500},
      {"5.", 5'000},
      {"+1", 1'000},
      {"1k", 1'000'000},
      {"1Ki", 1'024'000},
      {"1.5Gi", 1'610'612'736'000},
      {"1e3", 1'000'000},
      {"1E-3", 1},
      {"1E", std::numeric_limits<std::int64_t>::max()},
      {"1n", 1},
      {"1500u", 2},
      {"788815132Ki", 807'746'695'168'000},
      {"99999999999999999999999999999999", std::numeric_limits<std::int64_t>::max()}};
  for (const auto& [text, value] : known) {
    EXPECT_EQ(parse_quantity(text), value) << text;
  }
}

TEST(ParseQuantity, RefusesTheRest) {
  for (const char* const bad : {"", ".", "-1", "Gi", "1gi", "1 Gi", "1.2.3", "1e", "1e+", "0x1", "1KI", "١"}) {
    EXPECT_EQ(parse_quantity(bad), std::nullopt) << bad;
  }
}

TEST(ReadVariable, TakesAnyTextAsItsValue) {
  EXPECT_EQ(*read_variable(given("A_1=b=c d")), (NamedText{"A_1", "b=c d"}));
  EXPECT_EQ(*read_variable(given("A=")), (NamedText{"A", ""}));
  for (const char* const bad : {"", "A", "=b", "1A=b", "A-B=c", "A B=c", "A=\xff"}) {
    EXPECT_FALSE(read_variable(given(bad))) << bad;
  }
  EXPECT_EQ(read_variable(given("A")).error().message, "--x is 'A', expected NAME=VALUE, such as NCCL_DEBUG=INFO");
}

TEST(ReadLabel, TakesOneLabelOfKubernetes) {
  EXPECT_EQ(*read_label(given("example.com/team=vision")), (NamedText{"example.com/team", "vision"}));
  for (const char* const bad : {"", "team", "=a", "team=a b", "team=a,b=c", "a/b/c=d"}) {
    EXPECT_FALSE(read_label(given(bad))) << bad;
  }
}

TEST(IsOfController, KnowsTheLabelsOfJobsAndJobSets) {
  for (const char* const label :
       {"job-name", "controller-uid", "batch.kubernetes.io/job-name", "jobset.sigs.k8s.io/jobset-name"}) {
    EXPECT_TRUE(is_of_controller(label)) << label;
  }
  EXPECT_FALSE(is_of_controller("example.com/job-name"));
  EXPECT_FALSE(is_of_controller("job"));
}

TEST(ReadAmount, TakesAResourceWithItsAmount) {
  EXPECT_EQ(*read_amount(given("rdma/hca=1")), (NamedText{"rdma/hca", "1"}));
  EXPECT_EQ(*read_amount(given("ephemeral-storage=100Gi")), (NamedText{"ephemeral-storage", "100Gi"}));
  for (const char* const bad :
       {"", "rdma/hca", "rdma/hca=", "rdma/hca=0", "rdma/hca=x", "cpu=1", "memory=1Gi", "a b=1"}) {
    EXPECT_FALSE(read_amount(given(bad))) << bad;
  }
}

TEST(CheckAmountOfPod, TakesWhatKubernetesTakes) {
  for (const char* const good : {"rdma/hca=1", "ephemeral-storage=1.5Gi", "hugepages-2Mi=1Gi"}) {
    EXPECT_TRUE(check_amount_of_pod(*read_amount(given(good)))) << good;
  }
  for (const char* const bad : {"foo=1", "rdma/hca=1.5", "rdma/hca=500m", "example.com/foo=1Gi", "storage=1Gi"}) {
    EXPECT_FALSE(check_amount_of_pod(*read_amount(given(bad)))) << bad;
  }
}

TEST(ReadVolume, TakesAClaimOrAFolder) {
  EXPECT_EQ(*read_volume(given("my-claim:/data")), (Volume{"my-claim", "/data", false}));
  EXPECT_EQ(*read_volume(given("/mnt/x:/x:ro")), (Volume{"/mnt/x", "/x", true}));
  for (const char* const bad : {"", "a", "a:b", ":/b", "a:", "A:/b", "a:/b:rw", "a:/b:ro:c", "./a:/b", "a:/b c",
                                "a:/b,c", "a:/..", "/a/../b:/c"}) {
    EXPECT_FALSE(read_volume(given(bad))) << bad;
  }
  EXPECT_TRUE(read_volume(given("/a..b/...:/..c")));
}

TEST(RequestedAmounts, AreOneCpuAndOneGibibyteAWorkerUnlessGiven) {
  PodNeeds needs;
  EXPECT_EQ(requested_cpus(needs) + " " + requested_memory(needs), "1 1Gi");
  needs.workers = 3;
  EXPECT_EQ(requested_cpus(needs) + " " + requested_memory(needs), "3 3Gi");
  needs.devices = 8;
  EXPECT_EQ(requested_cpus(needs) + " " + requested_memory(needs), "8 8Gi");
  needs.cpus = "500m";
  needs.memory = "64Gi";
  EXPECT_EQ(requested_cpus(needs) + " " + requested_memory(needs), "500m 64Gi");
}

}  // namespace
}  // namespace muster::render
