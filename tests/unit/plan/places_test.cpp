// Placement of processes where roles have counts, and the endpoints at which they meet.
#include "plan/host_tasks.hpp"
#include "plans.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

RoleTemplate given(const std::string& name, RoleCount count) {
  RoleTemplate counted = role(name, count);
  counted.may_be_given = true;
  counted.listens = true;
  return counted;
}

ModeTemplate parameter_servers() {
  return {"own",
          {},
          {given("chief", RoleCount::None), given("worker", RoleCount::PerNode), given("ps", RoleCount::PerNode)},
          {}};
}

Cluster nodes_of(int count, int rank, std::vector<RoleSize> roles = {}) {
  Cluster cluster = cluster_of(std::vector<int>(static_cast<std::size_t>(count), 1), rank);
  cluster.job.roles = std::move(roles);
  return cluster;
}

/// "chief 0; worker 1" for each node.
std::vector<std::string> dealt(int nodes, const std::vector<RoleSize>& roles) {
  std::vector<std::string> lines;
  const ModeTemplate mode = parameter_servers();
  for (int node = 0; node < nodes; ++node) {
    const Cluster cluster = nodes_of(nodes, node, roles);
    const auto places = place_roles(mode, cluster, assume_placement(cluster));
    std::string line;
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (const int position : places[i].here) {
        line += (line.empty() ? "" : "; ") + mode.roles[i].name + " " + std::to_string(position);
      }
    }
    lines.push_back(line);
  }
  return lines;
}

const std::vector<RoleSize> kFive = {{"chief", 1}, {"worker", 2}, {"ps", 2}};

TEST(PlaceRoles, GivesEachAgentOneProcessWhenThereAreAsManyNodes) {
  EXPECT_EQ(dealt(5, kFive), (std::vector<std::string>{"chief 0", "worker 0", "worker 1", "ps 0", "ps 1"}));
}

TEST(PlaceRoles, DealsThemInTurnWhenThereAreFewerNodes) {
  EXPECT_EQ(dealt(2, kFive), (std::vector<std::string>{"chief 0; worker 1; ps 1", "worker 0; ps 0"}));
  EXPECT_EQ(dealt(1, kFive), (std::vector<std::string>{"chief 0; worker 0; worker 1; ps 0; ps 1"}));
}

TEST(PlaceRoles, LeavesNodesWithoutAProcessWhenThereAreMore) {
  EXPECT_EQ(dealt(3, {{"worker", 1}, {"ps", 1}}), (std::vector<std::string>{"worker 0", "ps 0", ""}));
}

TEST(PlaceRoles, TakesTheTemplatesCountsByDefault) {
  EXPECT_EQ(dealt(2, {}), (std::vector<std::string>{"worker 0; ps 0", "worker 1; ps 1"}));
}

TEST(PlaceRoles, CountsEachProcessOnceWhateverTheNumbers) {
  for (int nodes = 1; nodes <= 7; ++nodes) {
    for (int workers = 0; workers <= 9; ++workers) {
      std::size_t seen = 0;
      for (int node = 0; node < nodes; ++node) {
        const Cluster cluster = nodes_of(nodes, node, {{"worker", workers}, {"ps", 3}});
        for (const auto& place : place_roles(parameter_servers(), cluster, assume_placement(cluster))) {
          seen += place.here.size();
        }
      }
      EXPECT_EQ(seen, static_cast<std::size_t>(workers + 3)) << nodes << " nodes";
    }
  }
}

TEST(RanksAt, AreThoseOfTheNodesOwnPlan) {
  const Cluster cluster = nodes_of(2, 1, {{"worker", 3}, {"ps", 2}});
  EXPECT_EQ(ranks_at(parameter_servers(), cluster, assume_placement(cluster)), (std::vector<int>{1, 3}));
  const Cluster first = nodes_of(2, 0, {{"worker", 3}, {"ps", 2}});
  EXPECT_EQ(ranks_at(parameter_servers(), first, assume_placement(first)), (std::vector<int>{0, 2, 4}));
}

/// Endpoints of a role by name.
std::string endpoints_of(const std::vector<RoleEndpoints>& lists, const std::string& name) {
  for (const RoleEndpoints& list : lists) {
    if (list.role == name) {
      std::string text;
      for (const std::string& endpoint : list.endpoints) {
        text += (text.empty() ? "" : ",") + endpoint;
      }
      return text;
    }
  }
  return "none";
}

TEST(FindEndpoints, MeetsEachProcessWhereItsNodeReservedAPort) {
  const Cluster cluster = nodes_of(2, 1, kFive);
  Placement placement = assume_placement(cluster);
  placement.ports = {{"10.0.0.1", {1, 2, 3}, 1}, {"fd00::2", {4, 5}, 1}};

  const auto lists = find_endpoints(parameter_servers(), cluster, placement);

  EXPECT_EQ(endpoints_of(lists, "chief"), "10.0.0.1:1");
  EXPECT_EQ(endpoints_of(lists, "worker"), "[fd00::2]:4,10.0.0.1:2");
  EXPECT_EQ(endpoints_of(lists, "ps"), "[fd00::2]:5,10.0.0.1:3");
}

TEST(FindEndpoints, KnowsTheSlotsOfUnevenNodes) {
  RoleTemplate trainer = role("trainer", RoleCount::PerDevice);
  trainer.listens = true;
  const ModeTemplate mode{"own", {}, {trainer, role("helper", RoleCount::PerJob)}, {}};
  const Cluster cluster = cluster_of({3, 1}, 0);
  Placement placement = assume_placement(cluster);
  placement.ports = {{"a", {1, 2, 3}, 3}, {"b", {4, 5}, 1}};

  EXPECT_EQ(endpoints_of(find_endpoints(mode, cluster, placement), "trainer"), "a:1,a:2,a:3,b:4");
}

TEST(FindEndpoints, AreThoseOfTheNodesThatCame) {
  const Cluster four = nodes_of(4, 0, {{"worker", 3}, {"ps", 2}});
  Placement placement = assume_placement(four);
  placement.nodes = 1;  // of a job that may have one node, or four
  placement.ports = {{"a", {1, 2, 3, 4, 5}, 1}};

  const auto lists = find_endpoints(parameter_servers(), four, placement);

  EXPECT_EQ(endpoints_of(lists, "worker"), "a:1,a:2,a:3");
  EXPECT_EQ(endpoints_of(lists, "ps"), "a:4,a:5");
}

TEST(MostListeners, IsEnoughForAnyRankAndTheLeastNodes) {
  Cluster elastic = nodes_of(4, 0, {{"chief", 1}, {"worker", 3}, {"ps", 2}});
  EXPECT_EQ(most_listeners(parameter_servers(), elastic), 2);
  elastic.job.least_nodes = 1;
  EXPECT_EQ(most_listeners(parameter_servers(), elastic), 6);
  EXPECT_EQ(most_listeners(parameter_servers(), nodes_of(2, 1)), 2) << "a worker and a server";
  elastic.job.endpoints = {{"worker", {"w:1"}}};
  EXPECT_EQ(most_listeners(parameter_servers(), elastic), 0) << "the platform has chosen them";
}

TEST(FindEndpoints, TakesThePlatformsWord) {
  Cluster cluster = nodes_of(2, 0, {{"worker", 1}, {"ps", 1}});
  cluster.job.endpoints = {{"worker", {"w:1"}}, {"ps", {"p:2"}}};

  const auto lists = find_endpoints(parameter_servers(), cluster, assume_placement(cluster));

  EXPECT_EQ(endpoints_of(lists, "ps"), "p:2");
}

TEST(FindEndpoints, KnowsNothingBeforeTheNodesHaveMet) {
  const Cluster cluster = nodes_of(2, 0);
  EXPECT_TRUE(find_endpoints(parameter_servers(), cluster, assume_placement(cluster)).empty());
}

/// TF_CONFIG of the first process, as it stands in the plan.
std::string config_in(const Cluster& cluster, bool is_decided, const Snapshot& snapshot) {
  ChosenMode chosen{parameter_servers(), from_flag("--mode")};
  for (RoleTemplate& role : chosen.mode.roles) {
    role.environment.emplace_back("TF_CONFIG", "{task_config}");
    role.arguments = {"{endpoints:ps}"};
  }
  Placement placement = assume_placement(cluster);
  placement.is_decided = is_decided;
  const auto plan = make_plan({cluster, chosen, job_of({"train"}), snapshot}, placement);
  return readable(plan.workers.at(0).environment.at("TF_CONFIG"));
}

TEST(FindCrossPlace, CountsTheNodesThatHaveTheLocalRank) {
  const std::vector<int> slots = {1, 3, 2};
  const auto place = [&](int node, int local_rank) {
    const CrossPlace found = find_cross_place(slots, NodeRank{node}, local_rank);
    return std::pair(found.rank, found.size);
  };
  EXPECT_EQ(place(0, 0), std::pair(0, 3));
  EXPECT_EQ(place(2, 0), std::pair(2, 3));
  EXPECT_EQ(place(1, 1), std::pair(0, 2));
  EXPECT_EQ(place(2, 1), std::pair(1, 2));
  EXPECT_EQ(place(1, 2), std::pair(0, 1));
}

TEST(FindSlots, AreThoseOfTheNodesOrElseTheAssumedOnes) {
  const Cluster cluster = cluster_of({4, 4}, 0);
  Placement placement = assume_placement(cluster);
  EXPECT_EQ(find_slots(cluster, placement), (std::vector<int>{4, 4}));
  placement.ports = {{"10.0.0.1", {}, 1}, {"10.0.0.2", {}, 3}};
  EXPECT_EQ(find_slots(cluster, placement), (std::vector<int>{1, 3}));
  placement.ports.clear();
  placement.is_decided = true;
  EXPECT_TRUE(find_slots(cluster, placement).empty()) << "nobody has told";
}

TEST(MakePlan, KeepsThePlatformsTaskConfig) {
  Cluster cluster = nodes_of(1, 0, {{"worker", 1}});
  cluster.job.endpoints = {{"worker", {"a:1"}}};
  cluster.has_task_config = true;
  const std::string given = R"({"cluster": {}, "rpc_layer": "grpc"})";
  EXPECT_EQ(config_in(cluster, true, surroundings({{"TF_CONFIG", given}})), given);
}

TEST(MakePlan, WaitsForEndpointsOnlyUntilTheNodesHaveMet) {
  const Cluster cluster = nodes_of(1, 0, {{"worker", 1}});
  EXPECT_EQ(config_in(cluster, false, surroundings()), "{task_config}");
  EXPECT_EQ(config_in(cluster, true, surroundings()).find('{', 1), 11) << "a cluster, and it is empty";
}

TEST(MakePlan, KnowsWhatProcessesOfOtherNodesWaitFor) {
  ChosenMode chosen{parameter_servers(), from_flag("--mode")};
  chosen.mode.roles[2].environment.emplace_back("PORT", "{worker_port}");
  const Cluster cluster = nodes_of(2, 0, {{"worker", 1}, {"ps", 1}});
  const auto plan = make_plan({cluster, chosen, job_of({"train"}), surroundings()});

  ASSERT_EQ(plan.workers.size(), 1U);
  EXPECT_EQ(plan.workers[0].role, "worker");
  EXPECT_EQ(plan.services, std::vector<std::string>{"worker_port"});
  EXPECT_FALSE(plan.needs_run_folder);
}

TEST(TaskConfig, LeavesOutEmptyRolesAndEvaluators) {
  const std::vector<RoleEndpoints> lists = {
      {"chief", {}}, {"worker", {"a:1", "b:2"}}, {"ps", {"c:3"}}, {"evaluator", {"d:4"}}};

  EXPECT_EQ(task_config(lists, "evaluator", 0), R"({"cluster":{"worker":["a:1","b:2"],"ps":["c:3"]},)"
                                                R"("task":{"type":"evaluator","index":0}})");
}

// Processes that decide success

std::string deciding(const std::vector<RoleSize>& roles, std::vector<std::string> wanted = {}) {
  ChosenMode chosen{parameter_servers(), from_flag("--mode")};
  chosen.mode.roles[1].decides_only_without_role = "chief";
  chosen.mode.roles[2].decides_success = false;
  JobRequest job = job_of({"train"});
  job.success_roles = std::move(wanted);
  std::string names;
  const auto plan = make_plan({nodes_of(1, 0, roles), chosen, job, surroundings()});
  for (const WorkerPlan& worker : plan.workers) {
    names += worker.decides_success ? (names.empty() ? "" : ",") + worker.role : "";
  }
  return names;
}

TEST(DecidesSuccess, IsTheChiefAloneElseAllWorkers) {
  EXPECT_EQ(deciding({{"chief", 1}, {"worker", 2}, {"ps", 1}}), "chief");
  EXPECT_EQ(deciding({{"worker", 2}, {"ps", 1}}), "worker,worker");
}

TEST(DecidesSuccess, IsTheRoleNamedByTheUser) {
  EXPECT_EQ(deciding({{"chief", 1}, {"worker", 1}, {"ps", 1}}, {"chief", "ps"}), "chief,ps");
}

TEST(DecidesSuccess, IsEveryProcessIfNoRoleDecides) {
  EXPECT_EQ(deciding({{"ps", 2}}), "ps,ps");
}

}  // namespace
}  // namespace muster
