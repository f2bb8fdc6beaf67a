// Plans: the processes of each node, with their arguments, variables and files.
#include "base/json.hpp"
#include "plan/plans.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

namespace muster {
namespace {

using Lines = std::vector<std::string>;

LaunchPlan plan_of(const std::vector<int>& slots, int node_rank, std::vector<RoleTemplate> roles) {
  return make_plan({cluster_of(slots, node_rank), mode_of(std::move(roles)), job_of({"train"}), surroundings()});
}

// Ranks

TEST(MakePlan, StartsARolePerDeviceOnEachSlot) {
  const LaunchPlan plan = plan_of({2, 2}, 1, {role("worker", RoleCount::PerDevice)});

  EXPECT_EQ(plan.world_size, 4);
  EXPECT_EQ(described(plan), (Lines{"worker 2: role 2/4, local 0/2", "worker 3: role 3/4, local 1/2"}));
}

TEST(MakePlan, StartsARolePerOtherNodeOnAllButTheFirst) {
  const std::vector<RoleTemplate> roles = {role("head", RoleCount::PerJob), role("daemon", RoleCount::PerOtherNode)};
  const LaunchPlan first = plan_of({8, 8, 8}, 0, roles);
  ASSERT_EQ(first.workers.size(), 1U);
  EXPECT_EQ(first.workers[0].role, "head");
  const LaunchPlan last = plan_of({8, 8, 8}, 2, roles);
  ASSERT_EQ(last.workers.size(), 1U);
  EXPECT_EQ(last.workers[0].role, "daemon");
  EXPECT_EQ(last.workers[0].role_rank, 1);
  EXPECT_EQ(last.workers[0].global_rank.value, 2);
  EXPECT_EQ(last.world_size, 3);
}

TEST(MakePlan, StartsARolePerNodeOnceOnEachNode) {
  const LaunchPlan plan = plan_of({8, 8, 8}, 2, {role("worker", RoleCount::PerNode)});

  EXPECT_EQ(plan.world_size, 3);
  EXPECT_EQ(described(plan), Lines{"worker 2: role 2/3, local 0/1"});
}

TEST(MakePlan, StartsARolePerJobOnTheFirstNodeOnly) {
  EXPECT_EQ(described(plan_of({8, 8}, 0, {role("chief", RoleCount::PerJob)})), Lines{"chief 0: role 0/1, local 0/1"});

  const LaunchPlan elsewhere = plan_of({8, 8}, 1, {role("chief", RoleCount::PerJob)});
  EXPECT_TRUE(elsewhere.workers.empty());
  EXPECT_EQ(elsewhere.world_size, 1);
}

TEST(MakePlan, CountsTheSlotsOfNodesBeforeUsWhereTheyDiffer) {
  const std::vector<int> slots = {1, 8, 2, 4};
  EXPECT_EQ(described(plan_of(slots, 2, {role("worker", RoleCount::PerDevice)})),
            (Lines{"worker 9: role 9/15, local 0/2", "worker 10: role 10/15, local 1/2"}));
}

TEST(MakePlan, GivesEveryRankOfTheJobToExactlyOneWorker) {
  const std::vector<int> slots = {3, 1, 4, 1, 5};
  const std::vector<RoleTemplate> roles = {role("chief", RoleCount::PerJob), role("worker", RoleCount::PerDevice),
                                           role("server", RoleCount::PerNode)};
  std::vector<int> ranks;
  for (int node = 0; node < 5; ++node) {
    const LaunchPlan plan = plan_of(slots, node, roles);
    EXPECT_EQ(plan.world_size, 1 + 14 + 5);
    std::ranges::transform(plan.workers, std::back_inserter(ranks),
                           [](const auto& one) { return one.global_rank.value; });
  }
  std::ranges::sort(ranks);
  std::vector<int> all(1 + 14 + 5);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(ranks, all);
}

TEST(MakePlan, NumbersSeveralRolesOneAfterTheOther) {
  const LaunchPlan plan =
      plan_of({2, 2}, 1, {role("worker", RoleCount::PerDevice), role("server", RoleCount::PerNode)});

  EXPECT_EQ(plan.world_size, 6);
  EXPECT_EQ(described(plan),
            (Lines{"worker 2: role 2/4, local 0/3", "worker 3: role 3/4, local 1/3", "server 5: role 1/2, local 2/3"}));
  EXPECT_EQ(plan.workers[2].local_rank, LocalRank{2});
}

TEST(MakePlan, RemembersWhichRolesDecide) {
  RoleTemplate server = role("server", RoleCount::PerNode);
  server.decides_success = false;
  const LaunchPlan plan = plan_of({1}, 0, {role("worker", RoleCount::PerDevice), server});

  EXPECT_TRUE(plan.workers[0].decides_success);
  EXPECT_FALSE(plan.workers[1].decides_success);
}

// Rank tables

TEST(MakePlan, BindsAWorkerByTheDeviceThatTheTableGivesIt) {
  rank_table::Device first;
  first.id = 3;
  first.rank = 0;
  rank_table::Device second;
  second.id = 1;
  second.rank = 1;
  JobRequest job = job_of({"train"});
  job.binding = NodeBinding();
  for (int cpu = 0; cpu < 4; ++cpu) {
    job.binding->devices.emplace_back().emplace().cpus = {cpu};
  }
  PlanInput input{cluster_of({2}, 0), mode_of({role("worker", RoleCount::PerDevice)}), job, surroundings()};
  input.ranked = rank_table::RankedNode{2, {first, second}, ""};

  const LaunchPlan plan = make_plan(input);
  EXPECT_EQ(plan.workers.at(0).binding->cpus, std::vector<int>{3});
  EXPECT_EQ(plan.workers.at(1).binding->cpus, std::vector<int>{1});
}

// Folders of their own

/// Of a role whose processes run in a folder each.
WorkerPlan plan_elsewhere(std::vector<std::string> program, ProgramFiles files) {
  RoleTemplate worker = role("worker", RoleCount::PerDevice);
  worker.working_directory = "/srv/{local_rank}";
  JobRequest job = job_of(std::move(program));
  job.files = std::move(files);
  const Snapshot snapshot = surroundings({{"PYTHONPATH", "src"}});
  return make_plan({cluster_of({1}, 0), mode_of({worker}), job, snapshot}).workers.at(0);
}

TEST(MakePlan, NamesFilesAsTheyAreFromAnotherFolder) {
  const WorkerPlan script = plan_elsewhere({"python3", "train.py", "--config", "a/b"}, {{1}, false});
  EXPECT_EQ(script.working_directory, "/srv/0");
  EXPECT_EQ(script.argv, (Lines{"python3", "/home/user/job/train.py", "--config", "a/b"}));
  EXPECT_FALSE(script.environment.contains("PYTHONPATH"));

  EXPECT_EQ(plan_elsewhere({"timeout", "5", "../run"}, {{2}, false}).argv, (Lines{"timeout", "5", "/home/user/run"}));
  EXPECT_EQ(plan_elsewhere({"/bin/run"}, {{0}, false}).argv, Lines{"/bin/run"});
}

TEST(MakePlan, FindsModulesFromAnotherFolder) {
  const WorkerPlan module = plan_elsewhere({"python3", "-m", "jobs.train"}, {{}, true});
  EXPECT_EQ(module.argv, (Lines{"python3", "-m", "jobs.train"}));
  EXPECT_EQ(module.environment.at("PYTHONPATH"), "/home/user/job:src");
}

// Environment

LaunchPlan torchrun_plan(const Cluster& cluster, const Snapshot& snapshot) {
  return make_plan({cluster, *choose_mode({}), job_of({"train"}), snapshot});
}

TEST(MakePlan, GivesAWorkerWhatTorchrunGives) {
  Cluster cluster = cluster_of({8, 8}, 1);
  cluster.worker_port = 29'501;
  LaunchPlan plan = torchrun_plan(cluster, surroundings());
  fill_deferred(plan, {{"run_dir", "/run/x"}, {"own_interface", "eth0"}});

  const std::map<std::string, std::string> expected = {
      {"RANK", "8"},
      {"LOCAL_RANK", "0"},
      {"WORLD_SIZE", "16"},
      {"LOCAL_WORLD_SIZE", "8"},
      {"GROUP_RANK", "1"},
      {"GROUP_WORLD_SIZE", "2"},
      {"ROLE_RANK", "8"},
      {"ROLE_WORLD_SIZE", "16"},
      {"ROLE_NAME", "default"},
      {"MASTER_ADDR", "head"},
      {"MASTER_PORT", "29501"},
      {"TORCHELASTIC_RESTART_COUNT", "0"},
      {"TORCHELASTIC_MAX_RESTARTS", "0"},
      {"TORCHELASTIC_RUN_ID", "none"},
      {"TORCHELASTIC_USE_AGENT_STORE", "False"},
      {"TORCHELASTIC_ERROR_FILE", "/run/x/error_8.json"},
      {"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT"},
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
      {"NCCL_SOCKET_IFNAME", "=eth0"},
      {"GLOO_SOCKET_IFNAME", "eth0"},
      {"OMP_NUM_THREADS", "12"},
      {"PYTHONUNBUFFERED", "1"}};
  EXPECT_EQ(plan.workers[0].environment, expected);
  EXPECT_EQ(plan.workers[0].error_file, "/run/x/error_8.json");
}

TEST(MakePlan, GivesMindSporeWorkersTheirAddressThatFacesTheLeader) {
  ModeRequest request;
  request.name = {"msrun", from_flag("--mode")};
  const ChosenMode mode = *choose_mode(request);
  constexpr const char* kName = "MS_WORKER_IP";
  LaunchPlan plan = make_plan({cluster_of({1, 1}, 1), mode, job_of({"train"}), surroundings()});
  EXPECT_EQ(readable(plan.workers[0].environment.at(kName)), "{own_address}");
  fill_deferred(plan, {{"own_address", "10.0.0.2"}});
  EXPECT_EQ(plan.workers[0].environment.at(kName), "10.0.0.2");

  const auto alone = make_plan({cluster_of({1}, 0), mode, job_of({"train"}), surroundings()});
  EXPECT_FALSE(alone.workers[0].environment.contains(kName));
  const auto given = make_plan({cluster_of({1, 1}, 1), mode, job_of({"train"}), surroundings({{kName, "10.0.0.9"}})});
  EXPECT_FALSE(given.workers[0].environment.contains(kName));
}

TEST(MakePlan, LeavesTheFreshPortOpenUntilTheStart) {
  for (const Cluster& cluster : {cluster_of({1}, 0), cluster_of({1, 1}, 1)}) {
    LaunchPlan plan = torchrun_plan(cluster, surroundings());
    EXPECT_EQ(readable(plan.workers[0].environment.at("MASTER_PORT")), "{worker_port}");

    fill_deferred(plan, {{"worker_port", "4711"}});
    EXPECT_EQ(plan.workers[0].environment.at("MASTER_PORT"), "4711");
  }
}

TEST(MakePlan, IsMadeOnceForOneNodeInEachModeThatNeedsNoFactsOfNodes) {
  const Cluster cluster = cluster_of({2}, 0);
  Placement decided = assume_placement(cluster);
  decided.is_decided = true;
  decided.worker_port = 4711;
  Lines once;
  for (const std::string& name : mode_names()) {
    ModeRequest request;
    request.name = {name, from_flag("--mode")};
    const PlanInput input{cluster, *choose_mode(request), job_of({"train"}), surroundings()};
    LaunchPlan plan = make_plan(input);
    if (!is_plan_for(plan, decided)) {
      continue;
    }
    once.push_back(name);
    plan.placement = decided;
    fill_deferred(plan, {{"worker_port", "4711"}});
    EXPECT_EQ(json::serialize(to_document(plan)), json::serialize(to_document(make_plan(input, decided)))) << name;
  }
  EXPECT_EQ(once, (Lines{"torchrun", "msrun", "msrun-simulation", "ranktable", "once", "jax", "deepspeed", "accelerate",
                         "accelerate-single"}));
}

TEST(MakePlan, IsMadeAnewWhereTheStartDecidesMoreThanThePort) {
  const LaunchPlan plan = torchrun_plan(cluster_of({2}, 0), surroundings());
  Placement decided = plan.placement;
  decided.worker_port = 4711;
  EXPECT_TRUE(is_plan_for(plan, decided));
  for (const auto& change : std::vector<std::function<void(Placement&)>>{
           [](Placement& p) { p.attempt = 1; }, [](Placement& p) { p.restarts = 1; }, [](Placement& p) { p.nodes = 2; },
           [](Placement& p) { p.slots_total = 3; }, [](Placement& p) { p.host.hosts = 1; },
           [](Placement& p) { p.master_address = "10.0.0.1"; }}) {
    Placement other = decided;
    change(other);
    EXPECT_FALSE(is_plan_for(plan, other));
  }
  const LaunchPlan of_two = torchrun_plan(cluster_of({1, 1}, 0), surroundings());
  EXPECT_FALSE(is_plan_for(of_two, of_two.placement));
}

TEST(MakePlan, LeavesAloneWhatTheUserHasSet) {
  for (const std::string name :
       {"OMP_NUM_THREADS", "PYTHONUNBUFFERED", "TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCHELASTIC_SIGNALS_TO_HANDLE"}) {
    for (const std::string value : {"7", ""}) {
      const LaunchPlan plan = torchrun_plan(cluster_of({1}, 0), surroundings({{name, value}}));
      EXPECT_FALSE(plan.workers[0].environment.contains(name)) << name;
    }
  }
}

TEST(MakePlan, ReplacesTheRanksThatAPlatformSetForItsNodes) {
  const LaunchPlan plan = torchrun_plan(cluster_of({8, 8}, 1), surroundings({{"RANK", "1"}, {"WORLD_SIZE", "2"}}));

  EXPECT_EQ(plan.workers[3].environment.at("RANK"), "11");
  EXPECT_EQ(plan.workers[3].environment.at("WORLD_SIZE"), "16");
}

TEST(MakePlan, KeepsItsOwnVariablesFromWorkersButForTheMarker) {
  const LaunchPlan plan = torchrun_plan(cluster_of({1}, 0), surroundings({{"MUSTER_TOKEN", "secret"},
                                                                          {"MUSTER_NNODES", "1"},
                                                                          {"MUSTER_JOB_MARKER", "c0ffee"},
                                                                          {"MUSTERED", "x"},
                                                                          {"PATH", "/bin"}}));

  EXPECT_EQ(plan.workers[0].unset, (std::vector<std::string>{"MUSTER_NNODES", "MUSTER_TOKEN"}));
}

TEST(MakePlan, UnsetsWhatTheTemplateSays) {
  RoleTemplate worker = role("worker", RoleCount::PerDevice);
  worker.unset = {"OLD", "STALE"};

  EXPECT_EQ(plan_of({1}, 0, {worker}).workers[0].unset, (std::vector<std::string>{"OLD", "STALE"}));
}

// Threads

std::string threads(int cores, int slots) {
  Snapshot snapshot = surroundings();
  snapshot.cores.count = cores;
  return torchrun_plan(cluster_of({slots}, 0), snapshot).workers[0].environment.at("OMP_NUM_THREADS");
}

TEST(MakePlan, SharesTheAllowedCoresAmongTheWorkers) {
  EXPECT_EQ(threads(96, 8), "12");
  EXPECT_EQ(threads(7, 2), "3");
  EXPECT_EQ(threads(2, 1), "2");
  EXPECT_EQ(threads(2, 64), "1") << "never 0";
}

TEST(MakePlan, SaysItsThreadCountOnce) {
  const LaunchPlan plan = torchrun_plan(cluster_of({8, 8}, 1), surroundings());
  ASSERT_EQ(plan.notices.size(), 1U);
  EXPECT_EQ(plan.notices[0],
            "flags: node 1 of 2, 8 workers here, leader head:29500, OMP_NUM_THREADS=12 "
            "(96 allowed cores / 8 workers)");

  const LaunchPlan set_by_user = torchrun_plan(cluster_of({1}, 0), surroundings({{"OMP_NUM_THREADS", "4"}}));
  EXPECT_EQ(set_by_user.notices[0], "flags: node 0 of 1, 1 worker here, 1 in the job");
}

std::string remark_of(const Cluster& cluster) {
  return torchrun_plan(cluster, surroundings({{"OMP_NUM_THREADS", "1"}})).notices.at(0);
}

TEST(MakePlan, SaysOfSeveralNodesNoMoreThanIsKnown) {
  Cluster cluster = cluster_of({8, 8, 8, 8}, 1);
  EXPECT_EQ(remark_of(cluster), "flags: node 1 of 4, 8 workers here, leader head:29500");

  cluster.job.least_nodes = 2;
  EXPECT_EQ(remark_of(cluster), "flags: node 1 of 2 to 4, 8 workers here, leader head:29500");

  cluster.node.rank.reset();
  EXPECT_EQ(remark_of(cluster), "flags: one of 2 to 4 nodes, 8 workers here, leader head:29500");

  cluster.job.least_nodes = 4;
  cluster.gang_port = 7000;
  EXPECT_EQ(remark_of(cluster), "flags: one of 4 nodes, 8 workers here, leader head:7000");

  cluster.worker_port = 6999;
  EXPECT_EQ(remark_of(cluster), "flags: one of 4 nodes, 8 workers here, leader head:7000 (the workers meet at 6999)");
}

// Placement

TEST(AssumePlacement, TakesEachNodeAsTheClusterDescribesIt) {
  Cluster cluster = cluster_of({1, 8, 2, 4}, 2);
  cluster.max_restarts = 3;
  cluster.worker_port = 6000;
  const Placement placement = assume_placement(cluster);

  EXPECT_EQ(placement.attempt, 0);
  EXPECT_EQ(placement.max_restarts, 3);
  EXPECT_EQ(placement.nodes, 4);
  EXPECT_EQ(placement.node_rank, NodeRank{2});
  EXPECT_EQ(placement.slots_here, 2);
  EXPECT_EQ(placement.slots_before, 9);
  EXPECT_EQ(placement.slots_total, 15);
  EXPECT_EQ(placement.master_address, "head");
  EXPECT_EQ(placement.worker_port, 6000);
}

Placement decided_placement() {
  Placement placement;
  placement.attempt = 2;
  placement.max_restarts = 5;
  placement.nodes = 3;
  placement.node_rank = NodeRank{2};
  placement.slots_here = 1;
  placement.slots_before = 12;
  placement.slots_total = 13;
  placement.master_address = "leader";
  placement.worker_port = 4711;
  return placement;
}

TEST(MakePlan, CountsRanksWithinTheNodesWhoseRoleHasTheSameName) {
  Placement placement = decided_placement();
  placement.slots_here = 2;
  placement.role = {4, 6};
  const PlanInput input{cluster_of({8, 8, 8, 8}, 1),
                        mode_of({role("worker", RoleCount::PerDevice), role("server", RoleCount::PerNode)}),
                        job_of({"train"}), surroundings()};

  const LaunchPlan plan = make_plan(input, placement);

  EXPECT_EQ(described(plan), (Lines{"worker 12: role 4/6, local 0/3", "worker 13: role 5/6, local 1/3",
                                    "server 15: role 2/3, local 2/3"}));
  EXPECT_EQ(plan.workers[1].role_rank, 5);
}

TEST(MakePlan, BelievesThePlacementAndNotTheCluster) {
  RoleTemplate shown = role("worker", RoleCount::PerDevice);
  shown.environment.emplace_back("SEEN", "{attempt}/{max_restarts} {node_rank}/{nodes} {master_address}:{worker_port}");
  const LaunchPlan plan =
      make_plan({cluster_of({8, 8, 8, 8}, 1),
                 mode_of({shown, role("server", RoleCount::PerNode), role("chief", RoleCount::PerJob)}),
                 job_of({"train"}), surroundings()},
                decided_placement());

  EXPECT_EQ(described(plan), (Lines{"worker 12: role 12/13, local 0/2", "server 15: role 2/3, local 1/2"}));
  EXPECT_EQ(plan.world_size, 17);
  EXPECT_EQ(plan.workers[0].environment.at("SEEN"), "2/5 2/3 leader:4711");
  EXPECT_EQ(plan.workers[0].log.out, "attempt_2/worker_12.out");
  EXPECT_EQ(plan.placement.attempt, 2);
  EXPECT_EQ(plan.placement.nodes, 3);
  EXPECT_EQ(plan.placement.node_rank, NodeRank{2});
  EXPECT_EQ(plan.placement.master_address, "leader");
}

TEST(MakePlan, LetsAllWorkersDecideWhereNoRoleDoes) {
  RoleTemplate helper = role("helper", RoleCount::PerDevice);
  helper.decides_success = false;
  RoleTemplate chief = role("chief", RoleCount::PerJob);

  EXPECT_TRUE(plan_of({1, 1}, 1, {helper}).workers[0].decides_success);
  EXPECT_FALSE(plan_of({1, 1}, 1, {helper, chief}).workers[0].decides_success) << "a worker of another node decides";
}

// Program, files and logs

TEST(MakePlan, AppendsTheTemplatesArgumentsToTheProgram) {
  RoleTemplate worker = role("worker", RoleCount::PerDevice);
  worker.arguments = {"--rank={global_rank}", "--size", "{world_size}"};
  const LaunchPlan plan =
      make_plan({cluster_of({2, 2}, 1), mode_of({worker}), job_of({"train", "--lr", "{global_rank}"}), surroundings()});

  EXPECT_EQ(plan.workers[1].argv,
            (std::vector<std::string>{"train", "--lr", "{global_rank}", "--rank=3", "--size", "4"}))
      << "what the user wrote is left alone";
}

TEST(MakePlan, FillsTheFilesOfTheTemplate) {
  ChosenMode mode = mode_of({role("worker", RoleCount::PerDevice)});
  mode.mode.files = {{"{run_dir}/table.json", "0600", "{{\"nodes\": {nodes}, \"rank\": {node_rank}}}"}};
  LaunchPlan plan = make_plan({cluster_of({2, 2}, 1), mode, job_of({"train"}), surroundings()});
  fill_deferred(plan, {{"run_dir", "/run/x"}});

  ASSERT_EQ(plan.files.size(), 1U);
  EXPECT_EQ(plan.files[0].path, "/run/x/table.json");
  EXPECT_EQ(plan.files[0].mode, "0600");
  EXPECT_EQ(plan.files[0].content, "{\"nodes\": 2, \"rank\": 1}");
}

TEST(MakePlan, NamesLogsByAttemptRoleAndGlobalRank) {
  const LaunchPlan plain = plan_of({2, 2}, 1, {role("worker", RoleCount::PerDevice)});
  EXPECT_EQ(plain.workers[1].log.out, "attempt_0/worker_3.out");

  JobRequest job = job_of({"train"});
  job.log_dir = "/logs";
  const LaunchPlan in_folder =
      make_plan({cluster_of({2, 2}, 1), mode_of({role("ps", RoleCount::PerDevice)}), job, surroundings()});
  EXPECT_EQ(in_folder.workers[1].log.err, "/logs/attempt_0/ps_3.err");
}

/// A plan of two workers with error files, whose log files lie as torchrun has them.
LaunchPlan torchrun_plan(const std::string& log_dir, LogLayout layout, const std::string& job_id) {
  RoleTemplate worker = role("worker", RoleCount::PerDevice);
  worker.error_file = "{run_dir}/error_{global_rank}.json";
  worker.environment.emplace_back("ERROR_FILE", "{error_file}");
  worker.log = "another";
  JobRequest job = job_of({"train"});
  job.log_dir = log_dir;
  job.log_layout = layout;
  Cluster cluster = cluster_of({2, 2}, 1);
  cluster.job.job_id = job_id;
  Placement placement = assume_placement(cluster);
  placement.attempt = 3;
  LaunchPlan plan = make_plan({cluster, mode_of({worker}), job, surroundings()}, placement);
  fill_deferred(plan, {{"run_dir", "/run/x"}, {"log_token", "abc"}});
  return plan;
}

TEST(MakePlan, LaysLogsOutAsTorchrun) {
  const LaunchPlan plan = torchrun_plan("/logs", LogLayout::Torchrun, "team/job");
  const std::string attempt = "/logs/team_job_abc/attempt_3";
  const std::string folder = attempt + "/1";
  EXPECT_EQ(plan.workers[1].log, (StreamLogs{folder + "/stdout.log", folder + "/stderr.log"}));
  EXPECT_EQ(plan.workers[1].error_file, folder + "/error.json");
  EXPECT_EQ(plan.workers[1].environment.at("ERROR_FILE"), folder + "/error.json");
  EXPECT_EQ(plan.chosen_lines, (StreamLogs{attempt + "/filtered_stdout.log", attempt + "/filtered_stderr.log"}));
}

TEST(MakePlan, PutsErrorFilesIntoTheRunFolderWithoutALogFolder) {
  const LaunchPlan plan = torchrun_plan("", LogLayout::Torchrun, "j");
  EXPECT_EQ(plan.workers[0].log.out, "j_abc/attempt_3/0/stdout.log");
  EXPECT_EQ(plan.workers[0].error_file, "/run/x/error_2.json");
}

TEST(MakePlan, NamesNoErrorFileWhereNoFilesAreWanted) {
  const LaunchPlan plan = torchrun_plan("", LogLayout::Nothing, "j");
  EXPECT_EQ(plan.workers[0].error_file, "");
  EXPECT_EQ(plan.workers[0].environment.at("ERROR_FILE"), "");
}

TEST(MakePlan, NamesErrorFilesByWholePaths) {
  const LaunchPlan plan = torchrun_plan("logs", LogLayout::Torchrun, "j");
  EXPECT_EQ(plan.workers[0].error_file, surroundings().working_directory + "/logs/j_abc/attempt_3/0/error.json")
      << "a worker may change its directory";
  EXPECT_EQ(plan.workers[0].log.out, "logs/j_abc/attempt_3/0/stdout.log");
}

TEST(MakePlan, NamesFilesOfChosenLinesByNodeWhereNodesShareTheFolder) {
  const LaunchPlan plan = plan_of({2, 2}, 1, {role("worker", RoleCount::PerDevice)});
  EXPECT_EQ(plan.chosen_lines, (StreamLogs{"attempt_0/filtered_stdout_1.log", "attempt_0/filtered_stderr_1.log"}));
  EXPECT_EQ(plan.stacks_file, "attempt_0/stacks_1.txt");
  EXPECT_EQ(plan.on_hang_file, "attempt_0/on-hang_1.log");
  EXPECT_EQ(plan_of({2}, 0, {role("worker", RoleCount::PerDevice)}).chosen_lines.out, "attempt_0/filtered_stdout.log");
}

TEST(MakePlan, IsTheSamePlanForTheSameInput) {
  const auto document = [] {
    return json::serialize(to_document(torchrun_plan(cluster_of({3, 5}, 1), surroundings({{"A", "b"}}))));
  };
  EXPECT_EQ(document(), document());
}

TEST(MakePlan, FillsNothingThatOnlyLooksLikeALateValue) {
  RoleTemplate worker = role("worker", RoleCount::PerDevice);
  worker.environment = {{"JOB", "{job_id}"}, {"BRACES", "{{run_dir}} {{worker_port}} {{{worker_port}}}"}};
  Cluster cluster = cluster_of({1}, 0);
  cluster.job.job_id = "{worker_port}";
  LaunchPlan plan = make_plan({cluster, mode_of({worker}), job_of({"x"}), surroundings()});
  fill_deferred(plan, {{"run_dir", "/run/x"}, {"worker_port", "4711"}});

  EXPECT_EQ(plan.workers[0].environment, (std::map<std::string, std::string>{
                                             {"JOB", "{worker_port}"}, {"BRACES", "{run_dir} {worker_port} {4711}"}}));
}

TEST(MakePlan, GivesAnMpiJobAnUnguessableName) {
  ChosenMode chosen = mode_of({role("rank", RoleCount::PerDevice)});
  chosen.mode.services = {kPmixService};
  LaunchPlan plan = make_plan({cluster_of({1}, 0), chosen, job_of({"x"}), surroundings()});
  EXPECT_TRUE(plan.needs_secret);

  fill_deferred(plan, {{"job_secret", "4711"}});

  EXPECT_EQ(plan.mpi_job, "muster-4711-0");
}

// Inside another launcher's worker

Snapshot a_worker() {
  return surroundings({{"RANK", "5"},
                       {"LOCAL_RANK", "1"},
                       {"WORLD_SIZE", "8"},
                       {"LOCAL_WORLD_SIZE", "4"},
                       {"MASTER_ADDR", "10.0.0.1"},
                       {"MASTER_PORT", "29511"},
                       {"MUSTER_GRACE", "5"}});
}

TEST(MakeWorkerPlan, StartsOneProcessAndChangesNothing) {
  const LaunchPlan plan = make_worker_plan(job_of({"python3", "train.py"}), a_worker());

  ASSERT_EQ(plan.workers.size(), 1U);
  const WorkerPlan& worker = plan.workers[0];
  EXPECT_TRUE(worker.environment.empty());
  EXPECT_EQ(worker.unset, std::vector<std::string>{"MUSTER_GRACE"}) << "our options reach nobody";
  EXPECT_EQ(worker.argv, (std::vector<std::string>{"python3", "train.py"}));
  EXPECT_EQ(worker.global_rank, GlobalRank{5});
  EXPECT_TRUE(plan.is_transparent);
  EXPECT_EQ(plan.world_size, 8);
  EXPECT_EQ(plan.placement.master_address, "10.0.0.1");
  EXPECT_EQ(plan.cluster.master_port, 29'511);
}

TEST(MakeWorkerPlan, SaysSoInOneLine) {
  const LaunchPlan plan = make_worker_plan(job_of({"x"}), a_worker());

  ASSERT_EQ(plan.notices.size(), 1U);
  EXPECT_NE(plan.notices[0].find("LOCAL_RANK=1, LOCAL_WORLD_SIZE=4"), std::string::npos);
  EXPECT_NE(plan.notices[0].find("--nproc-per-node"), std::string::npos);
}

TEST(MakeWorkerPlan, NeedsNothingButTheTwoSigns) {
  const LaunchPlan plan = make_worker_plan(job_of({"x"}), surroundings({{"LOCAL_RANK", "0"},
                                                                        {"LOCAL_WORLD_SIZE", "1"},
                                                                        {"RANK", "x"},
                                                                        {"WORLD_SIZE", "99999999999"},
                                                                        {"MASTER_PORT", "-1"}}));
  EXPECT_EQ(plan.workers[0].global_rank, GlobalRank{0});
  EXPECT_EQ(plan.world_size, 1);
  EXPECT_EQ(plan.cluster.master_port, std::nullopt);
}

}  // namespace
}  // namespace muster
