// Requests of a job that are refused.
#include "plans.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string refusal(const JobRequest& job, const Snapshot& snapshot = surroundings()) {
  ChosenMode chosen = mode_of({role("worker", RoleCount::PerDevice), role("scheduler", RoleCount::PerJob)});
  const auto checked = check_job({cluster_of({2}, 0), chosen, job, snapshot});
  return checked ? "" : checked.error().message;
}

TEST(CheckJob, RefusesARoleThatCannotDecide) {
  JobRequest job = job_of({"train"});
  job.success_roles = {"worker", "chief"};
  EXPECT_EQ(refusal(job), "the mode 'own' has no role 'chief' that could decide, only worker, scheduler");
  job.success_roles = {"shceduler"};
  EXPECT_EQ(refusal(job), "the mode 'own' has no role 'shceduler' that could decide; did you mean 'scheduler'?");
}

TEST(CheckJob, FindsATypingErrorInAPlaceholder) {
  JobRequest job = job_of({"train", "--rank={globl_rank}"});
  EXPECT_EQ(refusal(job), "") << "nobody asked for placeholders";
  job.fills_arguments = true;
  EXPECT_EQ(refusal(job),
            "the argument '--rank={globl_rank}' has the unknown placeholder '{globl_rank}'; did you "
            "mean '{global_rank}'?");
}

TEST(CheckJob, LeavesOtherBracesAlone) {
  JobRequest job = job_of({"train", R"({"lr": {"a": 1}})", "{x}", "{", "}", "{}", "a{1,2}b"});
  job.fills_arguments = true;
  EXPECT_EQ(refusal(job), "");
}

TEST(CheckJob, RequiresADevicePerWorkerWithMaskedDevices) {
  JobRequest job = job_of({"train"});
  job.masks_devices = true;
  EXPECT_EQ(refusal(job), "");
  EXPECT_EQ(refusal(job, surroundings({{"CUDA_VISIBLE_DEVICES", "5,7"}})), "");
  EXPECT_EQ(refusal(job, surroundings({{"CUDA_VISIBLE_DEVICES", "5"}})),
            "CUDA_VISIBLE_DEVICES is '5', expected a device for each of the 2 workers of this node");
}

TEST(CheckJob, KnowsThatAProcessSeesOneMigDevice) {
  JobRequest job = job_of({"train"});
  const Snapshot parts = surroundings({{"CUDA_VISIBLE_DEVICES", "MIG-a,MIG-b"}});
  EXPECT_EQ(refusal(job, parts),
            "CUDA_VISIBLE_DEVICES is 'MIG-a,MIG-b', expected one MIG device, as a process of CUDA "
            "sees only one; --virtual-local-rank shows each worker its own");
  EXPECT_EQ(refusal(job, surroundings({{"CUDA_VISIBLE_DEVICES", "MIG-a"}})), "") << "shared";
  EXPECT_EQ(refusal(job, surroundings({{"CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b"}})), "");
  job.masks_devices = true;
  EXPECT_EQ(refusal(job, parts), "");
}

TEST(MakePlan, ShowsTheDevicesThatWereChosen) {
  JobRequest job = job_of({"train"});
  job.devices = DeviceChoice{"ROCR_VISIBLE_DEVICES", "4,6", {"HIP_VISIBLE_DEVICES"}, 2, {}};
  RoleTemplate server = role("ps", RoleCount::PerJob);
  server.environment.emplace_back("ROCR_VISIBLE_DEVICES", "-1");
  const auto plan = make_plan({cluster_of({2}, 0), mode_of({role("worker", RoleCount::PerDevice), server}), job,
                               surroundings({{"HIP_VISIBLE_DEVICES", "0"}})});

  ASSERT_EQ(plan.workers.size(), 3U);
  EXPECT_EQ(plan.workers[1].environment.at("ROCR_VISIBLE_DEVICES"), "4,6");
  EXPECT_EQ(plan.workers[1].unset, std::vector<std::string>({"HIP_VISIBLE_DEVICES"}));
  EXPECT_EQ(plan.workers[2].environment.at("ROCR_VISIBLE_DEVICES"), "-1") << "the template says it";
}

TEST(CheckJob, RefusesEndpointsOfProcessesThatDoNotListen) {
  JobRequest job = job_of({"train", "{endpoint}"});
  job.fills_arguments = true;
  EXPECT_EQ(refusal(job), "an argument has '{endpoint}', but 'worker' of the mode 'own' does not listen");
  job.program = {"train", "--all={endpoints:scheduler}"};
  EXPECT_EQ(refusal(job),
            "an argument has '{endpoints:scheduler}', but 'scheduler' of the mode 'own' does not "
            "listen");
}

TEST(CheckJob, RefusesAJobWithoutAProcess) {
  const ChosenMode chosen = mode_of({role("worker", RoleCount::None)});
  const auto checked = check_job({cluster_of({1}, 0), chosen, job_of({"train"}), surroundings()});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, "the mode 'own' starts no process at all");
}

TEST(CheckJob, RefusesToWaitForARoleWithoutProcesses) {
  JobRequest job = job_of({"train"});
  job.success_roles = {"helper"};
  const ChosenMode chosen = mode_of({role("worker", RoleCount::PerDevice), role("helper", RoleCount::None)});
  const auto checked = check_job({cluster_of({1}, 0), chosen, job, surroundings()});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, "'helper' is to decide success, but the job has no process of that role");
}

TEST(CheckSizes, RefusesWhatTheSystemWouldNotPass) {
  RoleTemplate worker = role("worker", RoleCount::PerDevice);
  const auto checked_with = [&](std::size_t bytes) {
    worker.environment.emplace_back("LIST", std::string(bytes, 'x'));
    const auto plan = make_plan({cluster_of({1}, 0), mode_of({worker}), job_of({"train"}), surroundings()});
    worker.environment.pop_back();
    return check_sizes(plan);
  };
  EXPECT_TRUE(checked_with(131'072 - 6));
  ASSERT_FALSE(checked_with(131'072 - 5));
  EXPECT_EQ(checked_with(131'072).error().message, "LIST would have 131078 bytes, and a process can be given 131072");
}

TEST(CheckLogs, RefusesOneLogOfTwoProcesses) {
  const auto refusal_of = [](const RoleTemplate& one, const RoleTemplate& other) {
    const auto plan = make_plan({cluster_of({1}, 0), mode_of({one, other}), job_of({"train"}), surroundings()});
    const auto checked = check_logs(plan, [](const WorkerPlan&) { return true; });
    EXPECT_TRUE(check_logs(plan, [](const WorkerPlan& w) { return w.role == "x"; }));
    return checked ? "" : checked.error().message;
  };
  RoleTemplate one = role("w", RoleCount::PerDevice);
  RoleTemplate other = role("x", RoleCount::PerJob);
  EXPECT_EQ(refusal_of(one, other), "");
  one.log = "same";
  other.log = "a/../same";
  EXPECT_EQ(refusal_of(one, other),
            "the log 'same.out' would be written by both rank 0 (w) and rank 1 (x); each process needs "
            "a log of its own");
  other.joins_streams = true;  // same.log beside same.out and same.err
  EXPECT_EQ(refusal_of(one, other), "");
}

// Effects of the fields that are checked here

TEST(MakePlan, FillsTheUsersArgumentsOnRequest) {
  JobRequest job = job_of({"train", "--id={global_rank}", "{x}", "{\"a\": {}}", "{worker_port}"});
  const auto argv_of_the_second = [&] {
    return make_plan({cluster_of({2}, 0), mode_of({role("w", RoleCount::PerDevice)}), job, surroundings()})
        .workers[1]
        .argv;
  };
  EXPECT_EQ(argv_of_the_second(), job.program);
  job.fills_arguments = true;
  const auto argv = argv_of_the_second();
  EXPECT_EQ(argv[1], "--id=1");
  EXPECT_EQ(argv[2], "{x}");
  EXPECT_EQ(argv[3], "{\"a\": {}}");
  EXPECT_EQ(readable(argv[4]), "{worker_port}");
  EXPECT_NE(argv[4], "{worker_port}") << "it waits for the start";
}

TEST(MakePlan, FillsTheLocalRankAsTorchrunDoes) {
  JobRequest job = job_of({"train", "--gpu=${local_rank}-${local_rank}", "${rank}"});
  job.fills_local_rank = true;
  const auto plan = make_plan({cluster_of({2}, 0), mode_of({role("w", RoleCount::PerDevice)}), job, surroundings()});

  EXPECT_EQ(plan.workers[1].argv, (std::vector<std::string>{"train", "--gpu=1-1", "${rank}"}));
}

TEST(MakePlan, ShowsEachWorkerItsOwnDevice) {
  JobRequest job = job_of({"train"});
  job.masks_devices = true;
  RoleTemplate worker = role("w", RoleCount::PerDevice);
  worker.environment.emplace_back("LOCAL_RANK", "{visible_local_rank}");
  const auto plan =
      make_plan({cluster_of({2}, 0), mode_of({worker}), job, surroundings({{"CUDA_VISIBLE_DEVICES", "5,GPU-7"}})});

  EXPECT_EQ(plan.workers[0].environment.at("CUDA_VISIBLE_DEVICES"), "5");
  EXPECT_EQ(plan.workers[1].environment.at("CUDA_VISIBLE_DEVICES"), "GPU-7");
  EXPECT_EQ(plan.workers[1].environment.at("LOCAL_RANK"), "0");
}

TEST(MakePlan, ShowsNoDeviceToWhomTheTemplateShowsNone) {
  JobRequest job = job_of({"train"});
  job.masks_devices = true;
  RoleTemplate server = role("ps", RoleCount::PerDevice);
  server.environment.emplace_back("CUDA_VISIBLE_DEVICES", "-1");
  const auto plan =
      make_plan({cluster_of({1}, 0), mode_of({server, role("scheduler", RoleCount::PerJob)}), job, surroundings()});

  EXPECT_EQ(plan.workers[0].environment.at("CUDA_VISIBLE_DEVICES"), "-1");
  EXPECT_FALSE(plan.workers[1].environment.contains("CUDA_VISIBLE_DEVICES"));
}

TEST(MakePlan, MasksTheDevicesThatTheNodeHas) {
  JobRequest job = job_of({"train"});
  job.masks_devices = true;
  Snapshot node = surroundings({{"CUDA_VISIBLE_DEVICES", ""}});  // as an image may have it
  node.devices.ascend = 8;
  const auto plan = make_plan({cluster_of({2}, 0), mode_of({role("w", RoleCount::PerDevice)}), job, node});

  EXPECT_EQ(plan.workers[1].environment.at("ASCEND_RT_VISIBLE_DEVICES"), "1");
}

TEST(MakePlan, SetsWhatDependsOnAParameterOnlyWhenItIsGiven) {
  RoleTemplate worker = role("w", RoleCount::PerDevice);
  worker.environment_if_given = {{"TABLE", "{table}/x"}};
  worker.unset = {"TABLE", "OTHER"};
  ChosenMode chosen = mode_of({worker});
  const auto environment_with = [&](const std::string& table) {
    chosen.parameters["table"] = {table, from_flag("--set")};
    return make_plan({cluster_of({1}, 0), chosen, job_of({"train"}), surroundings()}).workers[0];
  };
  EXPECT_FALSE(environment_with("").environment.contains("TABLE"));
  EXPECT_EQ(environment_with("").unset, (std::vector<std::string>{"TABLE", "OTHER"}));
  EXPECT_EQ(environment_with("f").environment.at("TABLE"), "f/x");
  EXPECT_EQ(environment_with("f").unset, (std::vector<std::string>{"OTHER"}));
}

TEST(MakePlan, AppendsTheTemplatesArguments) {
  RoleTemplate worker = role("w", RoleCount::PerNode);
  worker.arguments = {"--a"};
  worker.arguments_of_several_nodes = {"--b"};
  JobRequest job = job_of({"train"});
  const auto argv = [&](std::vector<int> slots, bool has_task_config) {
    Cluster cluster = cluster_of(std::move(slots), 0);
    cluster.has_task_config = has_task_config;
    return make_plan({cluster, mode_of({worker}), job, surroundings()}).workers[0].argv;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(argv({1}, false), (Words{"train", "--a"}));
  EXPECT_EQ(argv({1, 1}, false), (Words{"train", "--a", "--b"}));
  EXPECT_EQ(argv({1, 1}, true), (Words{"train"})) << "the script reads TF_CONFIG";
  job.template_arguments = GiveArguments::Always;
  EXPECT_EQ(argv({1}, true), (Words{"train", "--a"}));
  job.template_arguments = GiveArguments::Never;
  EXPECT_EQ(argv({1}, false), (Words{"train"}));
}

}  // namespace
}  // namespace muster
