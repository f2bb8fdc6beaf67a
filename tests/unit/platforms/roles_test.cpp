// --roles: how many processes of each role the job has.
#include "platforms/role_cases.hpp"

namespace muster {
namespace {

TEST(Roles, AreCountedByTheUser) {
  const auto cluster = describe_cluster(
      node_with({}), flags({{"nnodes", "2"}, {"master-addr", "a"}, {"roles", "ps=2,chief=1,worker=2"}}), kRoles);

  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->job.most_nodes, 2);
  EXPECT_EQ(cluster->job.roles, (std::vector<RoleSize>{{"chief", 1}, {"worker", 2}, {"ps", 2}}));
  EXPECT_TRUE(cluster->job.endpoints.empty());
  EXPECT_FALSE(cluster->has_task_config);
  EXPECT_EQ(source_of(*cluster, "roles"), "--roles");
}

TEST(Roles, AreUpToTheTemplateWithoutCounts) {
  const std::string nobody = "node 0 of 1, 8 slots, 127.0.0.1:fresh, single, ";
  EXPECT_EQ(counted({}), nobody);
  EXPECT_EQ(counted({}, {{"roles", "worker=1,evaluator=0"}}), nobody + "worker=1");
}

TEST(Roles, AreRefusedInAModeThatHasNone) {
  EXPECT_EQ(counted({}, {{"roles", "worker=1"}}, {}),
            "64: --roles is 'worker=1', but this mode has no roles whose number can be given");
}

TEST(Roles, AreRefusedWhereTheModeDoesNotKnowThem) {
  EXPECT_EQ(counted({}, {{"roles", "workers=1"}}),
            "64: --roles has the unknown role 'workers'; did you mean 'worker'?");
  EXPECT_EQ(counted({}, {{"roles", "worker=1,scheduler=1"}}),
            "64: --roles has the unknown role 'scheduler'; this mode has chief, worker, ps, "
            "evaluator");
}

TEST(Roles, AreRefusedWhenTheyAreNoNumbers) {
  for (const std::string text : {"", "worker", "=1", "worker=1,", ",worker=1", "4"}) {
    EXPECT_EQ(counted({}, {{"roles", text}}),
              "64: --roles is '" + text + "', expected numbers of processes by role, such as chief=1,worker=2,ps=2");
  }
  for (const std::string count : {"", "x", "-1", "+1", " 1", "1 ", "01", "1.0", "1000001", "1=1"}) {
    EXPECT_EQ(counted({}, {{"roles", "worker=" + count}}),
              "64: --roles worker is '" + count + "', expected a number of processes from 0 to 1000000");
  }
  EXPECT_EQ(counted({}, {{"roles", "worker=1,ps=1,worker=2"}}),
            "64: --roles is 'worker=1,ps=1,worker=2', expected each role once, and worker is there "
            "twice");
  EXPECT_EQ(counted({}, {{"roles", "worker=0,ps=0"}}),
            "64: --roles is 'worker=0,ps=0', expected 1 to 1000000 processes in all");
  EXPECT_EQ(counted({}, {{"roles", "worker=1000000,ps=1"}}),
            "64: --roles is 'worker=1000000,ps=1', expected 1 to 1000000 processes in all");
}

TEST(Roles, MustBeThoseOfTheTaskLists) {
  const Texts config = {{"TF_CONFIG", R"({"cluster": {"worker": ["a:1", "b:1"], "ps": ["c:1"]},)"
                                      R"( "task": {"type": "ps", "index": 0}})"}};

  EXPECT_EQ(counted(config, {{"roles", "ps=1,worker=2,chief=0"}}),
            "node 2 of 3, 1 slots, a:29500, tfjob, worker=2,ps=1");
  EXPECT_EQ(counted(config, {{"roles", "worker=2"}}),
            "64: --roles is 'worker=2' but TF_CONFIG is 'worker=2,ps=1': both give the number of "
            "processes of each role");
}

}  // namespace
}  // namespace muster
