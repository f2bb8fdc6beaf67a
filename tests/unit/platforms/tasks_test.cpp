// Lists of all tasks of a job: TF_CONFIG, and TF_PS_HOSTS with TF_WORKER_HOSTS.
#include "platforms/role_cases.hpp"

#include <chrono>

namespace muster {
namespace {

Texts task_config(const std::string& task) {
  return {{"TF_CONFIG", R"({"cluster": {"ps": ["ps-0:2222", "ps-1:2222"], "chief": ["chief-0:2222"],)"
                        R"( "worker": ["w-0:2222", "w-1:2222"]}, "task": )" +
                            task + "}"}};
}

Texts lists(const std::string& task, const std::string& index) {
  return {{"TF_PS_HOSTS", "[job-ps-0.job:5000,job-ps-1.job:5001]"},
          {"TF_WORKER_HOSTS", "[job-worker-0.job:5002,job-worker-1.job:5003]"},
          {"MA_TASK_NAME", task},
          {"VC_TASK_INDEX", index},
          {"MA_NUM_HOSTS", "2"},
          {"MA_NUM_GPUS", "8"},
          {"MA_VJ_NAME", "job"}};
}

Texts with(Texts variables, const Texts& more) {
  for (const auto& [name, value] : more) {
    variables[name] = value;
  }
  return variables;
}

TEST(TaskLists, NumberTheTasksOfTaskConfigRoleAfterRole) {
  const std::string rest = ", 1 slots, chief-0:29500, tfjob, chief=1,worker=2,ps=2";
  const auto node = [](const std::string& task) { return counted(task_config(task)); };

  EXPECT_EQ(node(R"({"type": "chief", "index": 0})"), "node 0 of 5" + rest);
  EXPECT_EQ(node(R"({"type": "worker", "index": 1})"), "node 2 of 5" + rest);
  EXPECT_EQ(node(R"({"type": "ps", "index": 0})"), "node 3 of 5" + rest);
  EXPECT_EQ(node(R"({"type": "ps", "index": "1"})"), "node 4 of 5" + rest);
}

TEST(TaskLists, AreKeptAsTheScriptsFindThem) {
  const auto cluster = describe_cluster(node_with(task_config(R"({"type": "worker", "index": 1})")), {}, kRoles);

  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_TRUE(cluster->has_task_config);
  EXPECT_EQ(cluster->job.endpoints, (std::vector<RoleEndpoints>{{"chief", {"chief-0:2222"}},
                                                                {"worker", {"w-0:2222", "w-1:2222"}},
                                                                {"ps", {"ps-0:2222", "ps-1:2222"}}}));
  EXPECT_EQ(cluster->job.roles, (std::vector<RoleSize>{{"chief", 1}, {"worker", 2}, {"ps", 2}}));
  EXPECT_EQ(cluster->hosts, (std::vector<std::optional<std::string>>{"chief-0", "w-0", "w-1", "ps-0", "ps-1"}));
  EXPECT_EQ(cluster->slots, std::vector<int>(5, 1));
  EXPECT_EQ(source_of(*cluster, "nodes.rank"), "TF_CONFIG");
  EXPECT_EQ(source_of(*cluster, "task"), "TF_CONFIG");
}

TEST(TaskLists, TakeMasterForAnOldNameOfChief) {
  EXPECT_EQ(counted({{"TF_CONFIG", R"({"cluster": {"master": ["m:1"], "worker": ["w:1"]},)"
                                   R"( "task": {"type": "master", "index": 0}})"}}),
            "node 0 of 2, 1 slots, m:29500, tfjob, chief=1,worker=1");
}

TEST(TaskLists, LeaveOutRolesThatTheModeLacks) {
  EXPECT_EQ(counted({{"TF_CONFIG", R"({"cluster": {"chief": ["c:1"], "worker": ["w:1"], "ps": []},)"
                                   R"( "task": {"type": "worker", "index": 0}})"}},
                    {}, {"worker", "ps"}),
            "node 0 of 1, 1 slots, 127.0.0.1:fresh, tfjob, worker=1");
}

TEST(TaskLists, GiveAnEvaluatorThatTheyLackASeparateJob) {
  const auto cluster = describe_cluster(node_with(task_config(R"({"type": "evaluator", "index": 0})")), {}, kRoles);

  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->job.most_nodes, 1);
  EXPECT_EQ(cluster->master_address, "127.0.0.1");
  EXPECT_EQ(cluster->job.roles, (std::vector<RoleSize>{{"evaluator", 1}}));
  EXPECT_EQ(cluster->job.endpoints.size(), 3U);
  EXPECT_TRUE(cluster->has_task_config);
}

TEST(TaskLists, CountAnEvaluatorThatTheyHave) {
  EXPECT_EQ(counted({{"TF_CONFIG", R"({"cluster": {"evaluator": ["e:1"], "worker": ["w:1"]},)"
                                   R"( "task": {"type": "evaluator", "index": 0}})"}}),
            "node 1 of 2, 1 slots, w:29500, tfjob, worker=1,evaluator=1");
}

TEST(TaskLists, AreReadFromTheVariablesOfModelArts) {
  const std::string rest = ", 1 slots, job-worker-0.job:29500, modelarts, worker=2,ps=2";

  EXPECT_EQ(counted(lists("worker", "1")), "node 1 of 4" + rest);
  EXPECT_EQ(counted(lists("ps", "0")), "node 2 of 4" + rest);

  const auto cluster = describe_cluster(node_with(lists("ps", "0")), {}, kRoles);
  ASSERT_TRUE(cluster);
  EXPECT_FALSE(cluster->has_task_config);
  EXPECT_EQ(source_of(*cluster, "nodes.count"), "TF_WORKER_HOSTS+TF_PS_HOSTS");
  EXPECT_EQ(source_of(*cluster, "task"), "MA_TASK_NAME+VC_TASK_INDEX");
}

TEST(TaskLists, MayHaveBlanksBracketsAndAddressesOfVersion6) {
  for (const std::string list : {"a:1,b:2", "[a:1,b:2]", "a:1, b:2", "[a:1,  b:2]", "10.0.0.1:1,10.0.0.2:2"}) {
    EXPECT_TRUE(counted(with(lists("worker", "1"), {{"TF_WORKER_HOSTS", list}})).starts_with("node 1 of 4, ")) << list;
  }
  for (const std::string list : {"[::1]:5000,[fd00::2]:5001", "[[::1]:5000,[fd00::2]:5001]"}) {
    const auto cluster =
        describe_cluster(node_with(with(lists("worker", "1"), {{"TF_WORKER_HOSTS", list}})), {}, kRoles);
    ASSERT_TRUE(cluster) << cluster.error().message;
    EXPECT_EQ(cluster->master_address, "::1");
    EXPECT_EQ(cluster->hosts[1], "fd00::2");
    EXPECT_EQ(cluster->job.endpoints[0].endpoints[1], "[fd00::2]:5001");
  }
}

TEST(TaskLists, RefuseEntriesThatAreNoHostAndPort) {
  for (const std::string entry :
       {"",      "b",    "b:",   "b:0",   "b:65536",  "b:+1",    "b:01", "b:1:2", "::1:5000", "[::1]",
        " b:1 ", "b:1 ", "b :1", "b/c:1", "http://b", "\"b:1\"", ":1",   "-b:1",  "b:port",   "b:1;c:2"}) {
    const std::string error = counted(with(lists("worker", "0"), {{"TF_WORKER_HOSTS", "a:1," + entry}}));
    EXPECT_TRUE(error.starts_with("78: TF_WORKER_HOSTS[1] is '")) << entry << ": " << error;
    EXPECT_NE(error.find("', expected host:port, such as worker-0:2222 or [::1]:2222"), std::string::npos);
  }
  EXPECT_EQ(counted(with(lists("worker", "0"), {{"TF_WORKER_HOSTS", "[a:1,b:2"}})),
            "78: TF_WORKER_HOSTS[0] is '[a:1', expected host:port, such as worker-0:2222 or "
            "[::1]:2222");
  for (const std::string empty : {"", "[]"}) {
    EXPECT_EQ(counted(with(lists("worker", "0"), {{"TF_PS_HOSTS", empty}})),
              "78: TF_PS_HOSTS is '" + empty + "', expected a list of host:port, such as [a:2222,b:2222]");
  }
}

TEST(TaskLists, NeedToKnowWhichTaskThisIs) {
  Texts variables = lists("worker", "0");
  variables.erase("MA_TASK_NAME");
  EXPECT_EQ(counted(variables),
            "78: TF_WORKER_HOSTS+TF_PS_HOSTS lists tasks, but nothing says which role this task "
            "has: MA_TASK_NAME is not set");
  variables = lists("worker", "0");
  variables.erase("VC_TASK_INDEX");
  EXPECT_EQ(counted(variables),
            "78: TF_WORKER_HOSTS+TF_PS_HOSTS lists tasks, but nothing says which index this task "
            "has: VC_TASK_INDEX is not set");
  variables = lists("ps", "0");
  variables.erase("TF_WORKER_HOSTS");
  EXPECT_EQ(counted(variables),
            "78: TF_PS_HOSTS lists tasks, but nothing says where the workers are: "
            "TF_WORKER_HOSTS is not set");
  EXPECT_EQ(counted(with(lists("learner", "0"), {})),
            "78: MA_TASK_NAME is 'learner' but TF_WORKER_HOSTS+TF_PS_HOSTS is 'worker=2,ps=2': no "
            "list has tasks of this role");
  EXPECT_EQ(counted(with(lists("ps", "2"), {{"MA_NUM_HOSTS", "3"}})),
            "78: VC_TASK_INDEX is '2' but the number of ps tasks is '2': an index must be below its "
            "count");
}

TEST(TaskLists, RefuseATaskThatIsListedTwice) {
  EXPECT_EQ(counted(with(lists("worker", "0"), {{"TF_WORKER_HOSTS", "a:1,a:1"}})),
            "78: TF_WORKER_HOSTS+TF_PS_HOSTS, role worker, is 'a:1', expected a host:port that it "
            "lists once");
  EXPECT_EQ(counted({{"TF_CONFIG", R"({"cluster": {"worker": ["a:1"], "ps": ["a:1"]},)"
                                   R"( "task": {"type": "ps", "index": 0}})"}}),
            "78: TF_CONFIG cluster, role ps, is 'a:1', expected a host:port that it lists once");
}

TEST(TaskLists, RefuseATaskConfigThatCannotBe) {
  const std::map<std::string, std::string> wrong = {
      {"", "TF_CONFIG is '', expected a JSON object with cluster and task"},
      {"{\"cluster\":", "TF_CONFIG is '{\"cluster\":', expected a JSON object with cluster and task"},
      {"[]", "TF_CONFIG is '[]', expected a JSON object with cluster and task"},
      {"{}", "TF_CONFIG cluster is '', expected an object with a list for each role"},
      {R"({"cluster": [1]})", "TF_CONFIG cluster is '[1]', expected an object with a list for each role"},
      {R"({"cluster": {"worker": ["a:1"]}})", "TF_CONFIG task is '', expected an object with type and index"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"index": 0}})",
       "TF_CONFIG task.type is '', expected the role of this task, such as worker"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker"}})",
       "TF_CONFIG task.index is '', expected the index of this task, such as 0"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": -1}})",
       "TF_CONFIG task.index is '-1', expected the index of this task, such as 0"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0.5}})",
       "TF_CONFIG task.index is '5E-1', expected the index of this task, such as 0"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "01"}})",
       "TF_CONFIG task.index is '01', expected the index of this task, such as 0"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}})",
       "TF_CONFIG task.index is '1' but TF_CONFIG cluster.worker is '1 task': the cluster does not "
       "list this task"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "ps", "index": 0}})",
       "TF_CONFIG task.index is '0' but TF_CONFIG cluster.ps is '0 tasks': the cluster does not "
       "list this task"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "workers", "index": 0}})",
       "TF_CONFIG task.type is 'workers', expected a role of this mode: chief, worker, ps, "
       "evaluator"},
      {R"({"cluster": {"workr": ["a:1"]}, "task": {"type": "worker", "index": 0}})",
       "TF_CONFIG cluster is 'workr', expected roles of chief, worker, ps, evaluator"},
      {R"({"cluster": {"chief": ["a:1"], "master": ["b:1"]}, "task": {"type": "chief", "index": 0}})",
       "TF_CONFIG cluster is 'master', expected chief or master, not both"},
      {R"({"cluster": {"worker": {"0": "a:1"}}, "task": {"type": "worker", "index": 0}})",
       "TF_CONFIG cluster.worker is '{\"0\":\"a:1\"}', expected a list of host:port with each task "
       "at its index"},
      {R"({"cluster": {"worker": ["a:1", 7]}, "task": {"type": "worker", "index": 0}})",
       "TF_CONFIG cluster.worker[1] is '7', expected host:port, such as worker-0:2222 or "
       "[::1]:2222"},
      {R"({"cluster": {"worker": ["a"]}, "task": {"type": "worker", "index": 0}})",
       "TF_CONFIG cluster.worker[0] is 'a', expected host:port, such as worker-0:2222 or "
       "[::1]:2222"}};
  for (const auto& [text, error] : wrong) {
    EXPECT_EQ(counted({{"TF_CONFIG", text}}), "78: " + error);
  }
}

TEST(TaskLists, DoNotRepeatALongValueInAMessage) {
  const std::string error = counted({{"TF_CONFIG", std::string(100'000, 'x')}});
  EXPECT_LT(error.size(), 600U);
}

TEST(TaskLists, MustAgreeWhereBothAreGiven) {
  const Texts both =
      with(lists("worker", "1"), {{"TF_CONFIG", R"({"cluster": {"ps": ["job-ps-0.job:5000", "job-ps-1.job:5001"],)"
                                                R"( "worker": ["job-worker-0.job:5002", "job-worker-1.job:5003"]},)"
                                                R"( "task": {"type": "worker", "index": 1}})"}});
  EXPECT_EQ(counted(both), "node 1 of 4, 1 slots, job-worker-0.job:29500, modelarts, worker=2,ps=2");

  EXPECT_EQ(counted(with(both, {{"VC_TASK_INDEX", "0"}})),
            "78: MA_TASK_NAME+VC_TASK_INDEX is 'worker 0' but TF_CONFIG task is 'worker 1': both say "
            "which task this is");
  EXPECT_EQ(counted(with(both, {{"TF_PS_HOSTS", "a:1"}})),
            "78: TF_WORKER_HOSTS+TF_PS_HOSTS is 'a:1' but TF_CONFIG is "
            "'job-ps-0.job:5000,job-ps-1.job:5001': both list the tasks of the role ps");
}

TEST(TaskLists, StandBesideAnyPlatform) {
  const Texts config = task_config(R"({"type": "ps", "index": 0})");
  const std::string node = "node 3 of 5, 1 slots, chief-0:";
  const std::string roles = ", chief=1,worker=2,ps=2";

  EXPECT_EQ(counted(with(config, {{"VC_TASK_INDEX", "0"}})), node + "29500, volcano" + roles);
  EXPECT_EQ(counted(with(config, {{"VC_TASK_INDEX", "0"}, {"VC_PS_HOSTS", "x,y"}, {"VC_WORKER_HOSTS", "v,w"}})),
            node + "29500, volcano" + roles);
  EXPECT_EQ(counted(with(config, {{"PET_NNODES", "2"}})), node + "29500, pet" + roles);
  EXPECT_EQ(counted(with(config, {{"RANK", "0"}, {"WORLD_SIZE", "9"}, {"MASTER_PORT", "1"}})),
            node + "29500, tfjob" + roles);
}

TEST(TaskLists, AreNotReadWhereTheUserWantsNone) {
  const Texts config = task_config(R"({"type": "ps", "index": 0})");

  for (const std::string name : {"single", "flags"}) {
    EXPECT_EQ(counted(config, {{"platform", name}}), "node 0 of 1, 8 slots, 127.0.0.1:fresh, " + name + ", ");
  }
  EXPECT_EQ(counted(config, {{"nnodes", "1"}}), "node 0 of 1, 8 slots, 127.0.0.1:fresh, flags, ");
  EXPECT_EQ(counted(with(config, {{"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}})),
            "node 0 of 1, 8 slots, 127.0.0.1:fresh, single, ");
}

TEST(TaskLists, AreWhatFlagsMustSay) {
  const Texts config = task_config(R"({"type": "ps", "index": 0})");

  EXPECT_EQ(counted(config, {{"nnodes", "5"}, {"node-rank", "3"}, {"master-addr", "head"}, {"nproc-per-node", "1"}}),
            "node 3 of 5, 1 slots, head:29500, flags, chief=1,worker=2,ps=2");
  EXPECT_EQ(counted(config, {{"nnodes", "4"}}),
            "64: --nnodes is '4' but TF_CONFIG is '5': each task that is listed is a node");
  EXPECT_EQ(counted(config, {{"nnodes", "2:5"}}),
            "64: --nnodes is '2:5' but TF_CONFIG is '5': each task that is listed is a node");
  EXPECT_EQ(counted(config, {{"node-rank", "1"}}),
            "64: --node-rank is '1' but TF_CONFIG is '3': the tasks are numbered as nodes, role "
            "after role");
  EXPECT_EQ(counted(config, {{"nproc-per-node", "2"}}),
            "64: --nproc-per-node is '2' but TF_CONFIG is '5': each task that is listed is one "
            "process");
}

TEST(TaskLists, KeepTheirPortsForThemselves) {
  const auto listening = [](const std::string& port) {
    return Texts{{"TF_CONFIG", R"({"cluster": {"worker": ["a:)" + port +
                                   R"(", "b:29501"], "ps": ["a:29501"]},)"
                                   R"( "task": {"type": "ps", "index": 0}})"}};
  };
  const std::string rest = ", tfjob, worker=2,ps=1";
  EXPECT_EQ(counted(listening("2222")), "node 2 of 3, 1 slots, a:29500" + rest);
  EXPECT_EQ(counted(listening("29500")), "node 2 of 3, 1 slots, a:29502" + rest);
  for (const std::string option : {"master-port", "worker-port", "gang-port"}) {
    EXPECT_EQ(counted(listening("2222"), {{option, "29501"}}),
              "64: --" + option +
                  " is '29501' but TF_CONFIG is 'a:29501': a task listens on that port of the "
                  "leader");
  }
}

TEST(TaskLists, TellOfNodesInAModeWithoutRolesIfNothingElseDoes) {
  const Texts config = task_config(R"({"type": "ps", "index": 0})");

  EXPECT_EQ(described(node_with(config)), "node 3 of 5, 8 slots, chief-0:29500, tfjob");
  EXPECT_TRUE(described(node_with(with(config, {{"VC_TASK_INDEX", "0"}, {"VC_PS_NUM", "1"}})))
                  .starts_with("78: TF_CONFIG is "));
  EXPECT_EQ(described(node_with({{"TF_CONFIG", ""}})), "node 0 of 1, 8 slots, 127.0.0.1:fresh, single");
  EXPECT_EQ(described(node_with(task_config(R"({"type": "evaluator", "index": 0})"))),
            "node 0 of 1, 8 slots, 127.0.0.1:fresh, single");
  EXPECT_EQ(described(node_with(lists("ps", "0"))), "node 0 of 2, 8 slots, job-ps-0.job:29500, modelarts");
}

TEST(TaskLists, MayAllBeOnOneMachine) {
  EXPECT_EQ(counted({{"TF_CONFIG", R"({"cluster": {"worker": ["localhost:1"], "ps": ["localhost:2"]},)"
                                   R"( "task": {"type": "ps", "index": 0}})"}}),
            "node 1 of 2, 1 slots, localhost:29500, tfjob, worker=1,ps=1");
}

/// "[<host>-0:29500,<host>-1:29501,...]" with 10,000 entries; one host if `is_one`.
std::string ten_thousand(const std::string& host, bool is_one) {
  std::string text = "[";
  for (int i = 0; i < 10'000; ++i) {
    text += (i == 0 ? "" : ",") + host + (is_one ? "" : "-" + std::to_string(i) + ".job") + ":" +
            std::to_string(29'500 + i);
  }
  return text + "]";
}

TEST(TaskLists, OfTenThousandHostsAreReadQuickly) {
  for (const bool is_one : {false, true}) {
    const Texts variables = with(lists("ps", "9999"), {{"TF_WORKER_HOSTS", ten_thousand("w", is_one)},
                                                       {"TF_PS_HOSTS", ten_thousand("ps", is_one)},
                                                       {"MA_NUM_HOSTS", "10000"}});
    const std::string node = counted(variables);

    EXPECT_EQ(node, std::string("node 19999 of 20000, 1 slots, ") + (is_one ? "w:39500" : "w-0.job:29501") +
                        ", modelarts, worker=10000,ps=10000");
  }
}

}  // namespace
}  // namespace muster
