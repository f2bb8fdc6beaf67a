// Checks whether a gang fits into the cluster that kubectl describes.
#include "render/check_fit.hpp"

#include "base/json.hpp"

#include <gtest/gtest.h>

namespace muster::render {
namespace {

std::string node(const std::string& name, const std::string& more = "") {
  return R"({"kind": "Node", "metadata": {"name": ")" + name + R"(", "labels": {"pool": "train"}}, "spec": {)" + more +
         R"(}, "status": {"allocatable": {"cpu": "10", "memory": "64Gi", "nvidia.com/gpu": "8", "pods": "4"},
             "conditions": [{"type": "Ready", "status": "True"}]}})";
}

std::string pod(const std::string& name, const std::string& where, const std::string& requests) {
  return R"({"kind": "Pod", "metadata": {"name": ")" + name + R"(", "namespace": "a"}, "spec": {"nodeName": ")" +
         where + R"(", "containers": [{"resources": {"requests": {)" + requests +
         R"(}}}]}, "status": {"phase": "Running"}})";
}

std::string list(const std::vector<std::string>& items, const std::string& kind = "List") {
  std::string text;
  for (const std::string& item : items) {
    text += (text.empty() ? "" : ",") + item;
  }
  return R"({"kind": ")" + kind + R"(", "items": [)" + text + "]}";
}

PodNeeds needs_of(int devices) {
  PodNeeds needs;
  needs.devices = devices;
  needs.device_resource = "nvidia.com/gpu";
  return needs;
}

ClusterState state_of(const std::vector<std::string>& items) {
  ClusterState state;
  const auto added = add_objects(state, json::parse(list(items)), "file");
  EXPECT_TRUE(added) << added.error().message;
  return state;
}

/// The number of pods that fit when more than can fit are requested.
int room(const std::vector<std::string>& items, const PodNeeds& needs = needs_of(4)) {
  return check_fit(state_of(items), needs, 1000).fitting;
}

TEST(CheckFit, NinetyNineOfAHundredIsNone) {
  std::vector<std::string> items;
  for (int i = 0; i < 100; ++i) {
    items.push_back(node("n" + std::to_string(i)));
  }
  items.push_back(pod("p", "n7", R"("nvidia.com/gpu": "4")"));

  const Fit fit = check_fit(state_of(items), needs_of(8), 100);

  EXPECT_EQ(fit.fitting, 99);
  EXPECT_EQ(fit.sentences,
            "99 of 100 fit: 1 pod with 8 nvidia.com/gpu is missing; largest free node has 4 "
            "nvidia.com/gpu\n"
            "  1 node is short of nvidia.com/gpu\n");
  EXPECT_EQ(check_fit(state_of(items), needs_of(4), 199).sentences, "199 of 199 fit; there is room for 199\n");
}

TEST(CheckFit, CountsEachResourceAndThePodsOfANode) {
  EXPECT_EQ(room({node("a")}), 2);
  EXPECT_EQ(room({node("a"), node("b")}), 4);
  EXPECT_EQ(room({node("a")}, needs_of(1)), 4) << "no more than 4 pods";
  EXPECT_EQ(room({node("a")}, needs_of(0)), 4);
  EXPECT_EQ(room({node("a")}, needs_of(9)), 0);
  PodNeeds needs = needs_of(1);
  needs.cpus = "3500m";
  EXPECT_EQ(room({node("a")}, needs), 2);
  needs.memory = "33Gi";
  EXPECT_EQ(room({node("a")}, needs), 1);
  needs.device_resource = "amd.com/gpu";
  EXPECT_EQ(room({node("a")}, needs), 0);
}

TEST(CheckFit, SubtractsWhatPodsTakeAsLongAsTheyRun) {
  EXPECT_EQ(room({node("a"), pod("p", "a", R"("nvidia.com/gpu": "1")")}), 1);
  EXPECT_EQ(room({pod("p", "a", R"("nvidia.com/gpu": "1")"), node("a")}), 1);
  EXPECT_EQ(room({node("a"), pod("p", "b", R"("nvidia.com/gpu": "1")")}), 2);
  EXPECT_EQ(room({node("a"), pod("p", "a", R"("nvidia.com/gpu": "99")")}), 0);
  std::string ended = pod("p", "a", R"("nvidia.com/gpu": "8")");
  ended.replace(ended.find("Running"), 7, "Succeeded");
  EXPECT_EQ(room({node("a"), ended}), 2);
  const std::string twice = pod("p", "a", R"("nvidia.com/gpu": "4")");
  EXPECT_EQ(room({node("a"), node("a"), twice, twice}), 1) << "each counts once";
}

TEST(CheckFit, LeavesOutNodesThatTakeNoPods) {
  std::string sick = node("a");
  sick.replace(sick.find(R"("True")"), 6, R"("Unknown")");
  EXPECT_EQ(room({sick}), 0);
  EXPECT_EQ(room({node("a", R"("unschedulable": true)")}), 0);
  const std::string tainted = node("a", R"("taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}])");
  EXPECT_EQ(room({tainted}), 0);
  EXPECT_EQ(room({node("a", R"("taints": [{"key": "k", "effect": "PreferNoSchedule"}])")}), 2);
  PodNeeds needs = needs_of(4);
  for (const auto& [toleration, expected] : {std::pair{Toleration{"k", "", ""}, 2},
                                             {Toleration{"k", "v", "NoSchedule"}, 2},
                                             {Toleration{"k", "w", ""}, 0},
                                             {Toleration{"k", "v", "NoExecute"}, 0},
                                             {Toleration{"l", "", ""}, 0}}) {
    needs.tolerations = {toleration};
    EXPECT_EQ(room({tainted}, needs), expected) << toleration.key << toleration.value << toleration.effect;
  }
  needs.node_selector = {{"pool", "train"}};
  EXPECT_EQ(room({node("a")}, needs), 2);
  needs.node_selector = {{"pool", "other"}};
  EXPECT_EQ(room({node("a")}, needs), 0);
}

TEST(CheckFit, ReportsUnusableNodesAndPendingPods) {
  const std::string waiting = R"({"kind": "Pod", "metadata": {"name": "w"}, "spec": {"containers": [
      {"resources": {"limits": {"nvidia.com/gpu": "1"}}}]}, "status": {"phase": "Pending"}})";
  const Fit fit = check_fit(state_of({node("a"), node("b", R"("unschedulable": true)"),
                                      node("c", R"("taints": [{"key": "k", "effect": "NoSchedule"}])"), waiting}),
                            needs_of(8), 3);
  EXPECT_EQ(fit.sentences,
            "1 of 3 fit: 2 pods with 8 nvidia.com/gpu are missing; largest free node has 0 "
            "nvidia.com/gpu\n"
            "  1 node is tainted with k:NoSchedule\n"
            "  1 node is unschedulable\n"
            "  even if nothing else ran, 1 would fit\n"
            "  1 other pod waits for nvidia.com/gpu, too\n");
  EXPECT_EQ(check_fit(state_of({node("a")}), needs_of(8), 1).sentences,
            "1 of 1 fit; there is room for 1\n"
            "  no pods were given: what others take is not subtracted\n");
}

Amounts requests(const std::string& spec) {
  const auto amounts = requests_of(json::parse(R"({"spec": )" + spec + "}"));
  EXPECT_TRUE(amounts);
  return *amounts;
}

TEST(RequestsOf, IsTheSumOfTheContainersOrWhatRunsBeforeThem) {
  EXPECT_EQ(requests(R"({"containers": [{"resources": {"requests": {"cpu": "1"}}},
                                        {"resources": {"requests": {"cpu": "500m"}}}, {}]})"),
            (Amounts{{"cpu", 1500}}));
  const auto with_init = [](const std::string& init) {
    return requests(R"({"initContainers": [)" + init +
                    R"(], "containers": [{"resources": {"requests": {"cpu": "2"}}}]})")
        .at("cpu");
  };
  const std::string sidecar = R"({"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}})";
  const std::string small = R"({"resources": {"requests": {"cpu": "1"}}})";
  const std::string large = R"({"resources": {"requests": {"cpu": "4"}}})";
  EXPECT_EQ(with_init(small), 2000);
  EXPECT_EQ(with_init(large), 4000);
  EXPECT_EQ(with_init(small + "," + large), 4000) << "one after the other";
  EXPECT_EQ(with_init(sidecar), 3000) << "goes on running";
  EXPECT_EQ(with_init(sidecar + "," + large), 5000);
  EXPECT_EQ(with_init(large + "," + sidecar), 4000);
  EXPECT_EQ(with_init(sidecar + "," + sidecar), 4000);
}

TEST(RequestsOf, IncludesLimitsOverheadAndPodLevelRequests) {
  EXPECT_EQ(
      requests(R"({"containers": [{"resources": {"limits": {"a.b/c": "2", "cpu": "3"}, "requests": {"cpu": "1"}}}]})"),
      (Amounts{{"a.b/c", 2000}, {"cpu", 1000}}));
  EXPECT_EQ(requests(R"({"resources": {"requests": {"cpu": "5"}}, "overhead": {"cpu": "250m"},
                         "containers": [{"resources": {"requests": {"cpu": "1", "memory": "1"}}}]})"),
            (Amounts{{"cpu", 5250}, {"memory", 1000}}));
  EXPECT_EQ(requests("{}"), Amounts());
}

TEST(AddObjects, TakesListsOfEveryKind) {
  ClusterState state;
  std::string bare = node("a");
  bare.erase(1, std::string(R"("kind": "Node", )").size());
  ASSERT_TRUE(add_objects(state, json::parse(list({bare}, "NodeList")), "x"));
  ASSERT_TRUE(add_objects(state, json::parse(node("b")), "x"));
  ASSERT_TRUE(add_objects(state, json::parse(list({pod("p", "a", "")}, "PodList")), "x"));
  EXPECT_EQ(state.nodes.size(), 2U);
  EXPECT_TRUE(state.has_pods);
}

TEST(AddObjects, RefusesTheRest) {
  const auto message = [](const std::string& text) {
    ClusterState state;
    const auto added = add_objects(state, json::parse(text), "f.json");
    return added ? "" : added.error().message;
  };
  EXPECT_EQ(message(R"({"kind": "Service"})"),
            "f.json: it holds something of the kind 'Service', expected nodes and pods");
  EXPECT_EQ(message("[]"), "f.json: it holds something of the kind '', expected nodes and pods");
  EXPECT_EQ(message(list({pod("p", "a", R"("cpu": "much")")})),
            "f.json: of the pod 'a/p' cpu is 'much', expected a quantity");
  EXPECT_EQ(message(R"({"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": []}}})"),
            "f.json: of the node 'n' cpu is '[]', expected a quantity");
}

}  // namespace
}  // namespace muster::render
