// CPUs and memory that each process is bound to, on hosts of all kinds.
#include "plan/binding.hpp"

#include "base/json.hpp"
#include "base/text.hpp"
#include "plan/plans.hpp"

#include <numeric>

namespace muster {
namespace {

using Lines = std::vector<std::string>;

/// Two sockets of two NUMA nodes each, four cores a node, two threads a core, two cores a cache: node
/// n has the CPUs 4n to 4n+3 and, 16 above them, their second threads.
Topology large_host() {
  Topology topology;
  for (int cpu = 0; cpu < 32; ++cpu) {
    const int core = cpu % 16;
    topology.cpus[cpu] = {.core = core, .cache = core / 2 * 2, .package = core / 8, .numa_node = core / 4};
    topology.allowed_cpus.push_back(cpu);
  }
  topology.memory_nodes = {0, 1, 2, 3};
  return topology;
}

Accelerator device_at(std::optional<int> numa_node, const std::string& uuid = "") {
  return {numa_node ? "0000:0" + std::to_string(*numa_node) + ":00.0" : "", uuid, "A", numa_node};
}

/// Eight GPUs, two on each node.
Topology host_with_gpus() {
  Topology topology = large_host();
  for (int gpu = 0; gpu < 8; ++gpu) {
    topology.nvidia.push_back(device_at(gpu / 2, "GPU-" + std::to_string(gpu) + "abc"));
  }
  return topology;
}

BindingRequest form(NumaForm form) {
  BindingRequest request;
  request.source = from_flag("--numa-binding");
  request.form = form;
  return request;
}

std::string described(const CpuBinding& binding) {
  return describe_ranges(binding.cpus) +
         (binding.memory_nodes.empty()
              ? ""
              : std::string(binding.is_memory_strict ? " bound " : " near ") + describe_ranges(binding.memory_nodes));
}

Lines described(const Result<NodeBinding>& node) {
  if (!node) {
    return {std::to_string(node.error().exit_code()) + ": " + node.error().message};
  }
  Lines lines;
  for (const auto& binding : node->devices) {
    lines.push_back(binding ? described(*binding) : "free");
  }
  for (const auto& [role, binding] : node->roles) {
    lines.push_back(role + " " + described(binding));
  }
  return lines;
}

Lines bound(const BindingRequest& request, const Topology& topology, int workers,
            std::map<std::string, std::string> variables = {}) {
  return described(decide_binding(request, topology, surroundings(std::move(variables)), one_each(workers)));
}

// The forms

TEST(NumaBinding, NodeTakesAllCpusOfTheNode) {
  EXPECT_EQ(bound(form(NumaForm::Node), host_with_gpus(), 8),
            Lines({"0-3, 16-19 near 0", "0-3, 16-19 near 0", "4-7, 20-23 near 1", "4-7, 20-23 near 1",
                   "8-11, 24-27 near 2", "8-11, 24-27 near 2", "12-15, 28-31 near 3", "12-15, 28-31 near 3"}));
}

TEST(NumaBinding, SocketTakesAllNodesOfThePackage) {
  EXPECT_EQ(bound(form(NumaForm::Socket), host_with_gpus(), 5),
            Lines({"0-7, 16-23", "0-7, 16-23", "0-7, 16-23", "0-7, 16-23", "8-15, 24-31"}));
}

TEST(NumaBinding, ExclusiveDividesCoresWithTheirThreads) {
  EXPECT_EQ(bound(form(NumaForm::Exclusive), host_with_gpus(), 4),
            Lines({"0-1, 16-17 near 0", "2-3, 18-19 near 0", "4-5, 20-21 near 1", "6-7, 22-23 near 1"}));
}

TEST(NumaBinding, ExclusiveGivesRemainingCoresToTheFirstWorkers) {
  Topology topology = large_host();
  topology.nvidia = {device_at(0), device_at(0), device_at(0)};

  EXPECT_EQ(bound(form(NumaForm::Exclusive), topology, 3),
            Lines({"0-1, 16-17 near 0", "2, 18 near 0", "3, 19 near 0"}));
}

TEST(NumaBinding, ExclusiveDividesAmongAllVisibleDevicesNotAmongWorkers) {
  EXPECT_EQ(bound(form(NumaForm::Exclusive), host_with_gpus(), 1), Lines({"0-1, 16-17 near 0"}));
  EXPECT_EQ(bound(form(NumaForm::Exclusive), host_with_gpus(), 1, {{"CUDA_VISIBLE_DEVICES", "1"}}),
            Lines({"0-3, 16-19 near 0"}));
}

TEST(NumaBinding, ExclusiveFailsWithFewerCoresThanDevices) {
  Topology topology = host_with_gpus();
  topology.allowed_cpus = {0, 4, 5, 16};

  EXPECT_EQ(bound(form(NumaForm::Exclusive), topology, 2),
            Lines({"64: --numa-binding wants cores of its own for each process, but the 2 processes on NUMA node 0 "
                   "have 1 core"}));
}

TEST(NumaBinding, CoreComplexTakesOneCacheEachAndBeginsAgain) {
  Topology topology = large_host();
  topology.nvidia = {device_at(0), device_at(0), device_at(0)};

  EXPECT_EQ(bound(form(NumaForm::CoreComplex), topology, 3),
            Lines({"0-1, 16-17 near 0", "2-3, 18-19 near 0", "0-1, 16-17 near 0"}));
}

TEST(NumaBinding, CoreComplexPrefersCachesThatTheCpusetLeavesWhole) {
  Topology topology = host_with_gpus();
  topology.allowed_cpus = {1, 2, 3, 17, 18, 19};

  EXPECT_EQ(bound(form(NumaForm::CoreComplex), topology, 2), Lines({"2-3, 18-19 near 0", "1, 17 near 0"}));
}

// The host

TEST(NumaBinding, KeepsToTheCpuset) {
  Topology topology = host_with_gpus();
  topology.allowed_cpus = {2, 3, 9};
  topology.memory_nodes = {2};

  EXPECT_EQ(bound(form(NumaForm::Node), topology, 2), Lines({"2-3", "2-3"}));
  EXPECT_EQ(bound(form(NumaForm::Node), topology, 3),
            Lines({"64: --numa-binding finds no CPU for GPU 2 (0000:01:00.0), which is on NUMA node 1: "
                   "this process may use only the CPUs 2-3, 9"}));
  EXPECT_EQ(bound(form(NumaForm::Socket), topology, 3), Lines({"2-3", "2-3", "2-3"}));
}

TEST(NumaBinding, CountsAnUnknownNodeAsNodeZeroAndSaysSo) {
  Topology topology = large_host();
  topology.nvidia = {device_at(-1)};

  const auto node = decide_binding(form(NumaForm::Node), topology, surroundings(), one_each(1));

  ASSERT_TRUE(node);
  EXPECT_EQ(described(node), Lines({"0-3, 16-19 near 0"}));
  ASSERT_EQ(node->notices.size(), 1U);
  EXPECT_NE(node->notices[0].find("numa_node is -1"), std::string::npos);
}

TEST(NumaBinding, FailsWhereDevicesCannotBeIdentified) {
  Topology topology = large_host();
  topology.ascend = {device_at(0), device_at(std::nullopt)};

  EXPECT_EQ(bound(form(NumaForm::Node), topology, 2),
            Lines({"64: --numa-binding cannot be followed: nothing on this host tells the NUMA node "
                   "of NPU 1"}));
}

TEST(NumaBinding, WorksForNpusAndAmd) {
  Topology topology = large_host();
  topology.ascend = {device_at(3), device_at(0)};
  EXPECT_EQ(bound(form(NumaForm::Node), topology, 2), Lines({"12-15, 28-31 near 3", "0-3, 16-19 near 0"}));

  topology.amd = {device_at(2), device_at(1)};
  topology.ascend.clear();
  EXPECT_EQ(bound(form(NumaForm::Node), topology, 1, {{"ROCR_VISIBLE_DEVICES", "1"}}), Lines({"4-7, 20-23 near 1"}));
  EXPECT_EQ(bound(form(NumaForm::Node), topology, 1, {{"ROCR_VISIBLE_DEVICES", "1,0"}, {"HIP_VISIBLE_DEVICES", "1"}}),
            Lines({"8-11, 24-27 near 2"}));
}

TEST(NumaBinding, SpreadsWorkersWithoutAcceleratorsOverTheNodes) {
  EXPECT_EQ(bound(form(NumaForm::Node), large_host(), 1), Lines({"0-31"}));
  EXPECT_EQ(bound(form(NumaForm::Node), large_host(), 2), Lines({"0-7, 16-23", "8-15, 24-31"}));
  EXPECT_EQ(bound(form(NumaForm::Exclusive), large_host(), 6),
            Lines({"0-1, 16-17 near 0", "2-3, 18-19 near 0", "4-7, 20-23 near 1", "8-9, 24-25 near 2",
                   "10-11, 26-27 near 2", "12-15, 28-31 near 3"}));
}

TEST(NumaBinding, GivesMoreWorkersThanDevicesTheDevicesAgain) {
  Topology topology = large_host();
  topology.nvidia = {device_at(1), device_at(3)};

  EXPECT_EQ(bound(form(NumaForm::Exclusive), topology, 4),
            Lines({"4-5, 20-21 near 1", "12-13, 28-29 near 3", "6-7, 22-23 near 1", "14-15, 30-31 near 3"}));
}

// Visible devices

TEST(NumaBinding, FollowsTheListOfVisibleDevices) {
  const auto with = [](const std::string& list, int workers) {
    return bound(form(NumaForm::Node), host_with_gpus(), workers, {{"CUDA_VISIBLE_DEVICES", list}});
  };

  EXPECT_EQ(with("6, 2", 2), Lines({"12-15, 28-31 near 3", "4-7, 20-23 near 1"}));
  EXPECT_EQ(with("GPU-7", 1), Lines({"12-15, 28-31 near 3"}));
  EXPECT_EQ(with("MIG-GPU-7abc/1/0", 1), Lines({"12-15, 28-31 near 3"}));
  EXPECT_EQ(with("4,-1,0", 2), Lines({"8-11, 24-27 near 2", "8-11, 24-27 near 2"}));
  EXPECT_EQ(with("MIG-1234", 1),
            Lines({"64: --numa-binding cannot be followed: nothing on this host tells the NUMA node "
                   "of GPU MIG-1234"}));
}

TEST(NumaBinding, DoubtsTheOrderOfGpusThatDiffer) {
  Topology topology = host_with_gpus();
  topology.nvidia[3].model = "B";

  const auto request = form(NumaForm::Node);
  EXPECT_EQ(decide_binding(request, topology, surroundings(), one_each(1))->notices.size(), 1U);
  EXPECT_EQ(decide_binding(request, topology, surroundings({{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}), one_each(1))
                ->notices.size(),
            0U);
}

// Bindings given by the user

TEST(GivenBinding, GoesByTheNumberOfTheDevice) {
  Topology topology = large_host();
  topology.ascend = std::vector<Accelerator>(8, device_at(0));
  BindingRequest request;
  request.source = from_flag("--bind-core");
  request.devices[7].cpus = {4, 5};
  request.devices[6].cpus = {8};
  request.roles["scheduler"].cpus = {31};

  EXPECT_EQ(bound(request, topology, 2, {{"ASCEND_RT_VISIBLE_DEVICES", "6,7"}}), Lines({"8", "4-5", "scheduler 31"}));
  EXPECT_EQ(bound(request, large_host(), 2, {{"ASCEND_RT_VISIBLE_DEVICES", "6,7"}}),
            Lines({"8", "4-5", "scheduler 31"}));
  EXPECT_EQ(bound(request, topology, 1),
            Lines({"64: --bind-core says nothing of device0, the accelerator of local rank 0"}));
}

TEST(GivenBinding, IsOfTheDevicesThatATableNames) {
  BindingRequest request;
  request.source = from_flag("--bind-core");
  request.devices[2].cpus = {4, 5};
  request.devices[3].cpus = {8};
  const auto bound_of = [&](std::vector<int> places) {
    return described(decide_binding(request, host_with_gpus(), surroundings(), {std::move(places), 4}));
  };

  EXPECT_EQ(bound_of({3, 2}), Lines({"free", "free", "4-5", "8"}));
  EXPECT_EQ(bound_of({}), Lines({"free", "free", "4-5", "8"})) << "the table is not here yet";
  EXPECT_EQ(bound_of({3, 1}), Lines({"64: --bind-core says nothing of device1, the accelerator of local rank 1"}));
}

TEST(GivenBinding, OfTheSchedulerAloneLeavesWorkersFree) {
  BindingRequest request;
  request.source = from_flag("--bind-core");
  request.roles["scheduler"].cpus = {0};

  EXPECT_EQ(bound(request, large_host(), 2), Lines({"free", "free", "scheduler 0"}));
}

TEST(GivenBinding, ByNodeBindsMemoryToo) {
  BindingRequest request;
  request.source = from_flag("--bind-numa");
  request.devices[0] = {.cpus = {}, .cpu_nodes = {1}, .memory_nodes = {1}};

  EXPECT_EQ(bound(request, large_host(), 1), Lines({"4-7, 20-23 bound 1"}));
}

TEST(GivenBinding, RefusesWhatTheHostHasNot) {
  Topology topology = large_host();
  topology.allowed_cpus = {0, 1};
  topology.memory_nodes = {0};
  BindingRequest request;
  request.source = from_option("MUSTER_BIND_CORE");
  request.devices[0].cpus = {1, 2, 40};
  EXPECT_EQ(bound(request, topology, 1),
            Lines({"78: MUSTER_BIND_CORE gives device0 the CPUs 2, 40, but this process may use only "
                   "0-1"}));

  request.devices[0] = {.cpus = {}, .cpu_nodes = {1}, .memory_nodes = {}};
  EXPECT_EQ(bound(request, topology, 1),
            Lines({"78: MUSTER_BIND_CORE gives device0 the NUMA node 1, of which this process may use "
                   "no CPU"}));

  request.devices[0] = {.cpus = {0}, .cpu_nodes = {}, .memory_nodes = {0, 1}};
  EXPECT_EQ(bound(request, topology, 1),
            Lines({"78: MUSTER_BIND_CORE gives device0 the memory of NUMA node 1, but this process may "
                   "use only that of 0"}));
}

TEST(GivenBinding, RemarksOnCpusThatTwoShare) {
  BindingRequest request;
  request.source = from_flag("--bind-core");
  request.devices[0].cpus = {0, 1, 2};
  request.devices[1].cpus = {2, 3};

  const auto node = decide_binding(request, large_host(), surroundings(), one_each(2));

  ASSERT_TRUE(node);
  EXPECT_EQ(node->notices, Lines({"--bind-core gives the CPUs 2 to both device0 and device1"}));
}

TEST(GivenBinding, StandsOnTopOfAForm) {
  BindingRequest request = form(NumaForm::Node);
  request.binds_memory = true;
  request.cpu_list_variable = "LIST";
  EXPECT_EQ(bound(request, host_with_gpus(), 1), Lines({"0-3, 16-19 bound 0"}));
  EXPECT_EQ(decide_binding(request, host_with_gpus(), surroundings(), one_each(1))->devices[0]->variables,
            (std::map<std::string, std::string>{{"LIST", "[0, 1, 2, 3, 16, 17, 18, 19]"}}));

  request.devices[0].cpus = {5};
  EXPECT_EQ(bound(request, host_with_gpus(), 1), Lines({"5 bound 0"}));
  EXPECT_TRUE(decide_binding(request, host_with_gpus(), surroundings(), one_each(1))->devices[0]->variables.empty());
}

// The plan

TEST(BoundPlan, BindsProcessesOfDevicesAndNamedRoles) {
  JobRequest job = job_of({"train"});
  job.binding.emplace();
  job.binding->devices = {CpuBinding{{0, 1}, {0}, false, "near", {{"LIST", "[0, 1]"}}},
                          CpuBinding{{2}, {}, false, "near", {}}};
  job.binding->roles["scheduler"] = CpuBinding{{3}, {}, false, "named", {}};
  job.binding->variables = {{"FILE", "/x.json"}};
  RoleTemplate worker = role("worker", RoleCount::PerDevice);
  worker.environment.emplace_back("THREADS", "{cores_per_worker}");

  const LaunchPlan plan = make_plan(
      {cluster_of({2}, 0), mode_of({role("scheduler", RoleCount::PerJob), worker, role("logger", RoleCount::PerNode)}),
       job, surroundings()});

  ASSERT_EQ(plan.workers.size(), 4U);
  EXPECT_EQ(plan.workers[0].binding->cpus, std::vector<int>({3}));
  EXPECT_EQ(plan.workers[1].binding->cpus, std::vector<int>({0, 1}));
  EXPECT_EQ(plan.workers[1].environment.at("LIST"), "[0, 1]");
  EXPECT_EQ(plan.workers[1].environment.at("THREADS"), "2");
  EXPECT_EQ(plan.workers[2].binding->cpus, std::vector<int>({2}));
  EXPECT_EQ(plan.workers[2].environment.at("FILE"), "/x.json");
  EXPECT_EQ(plan.workers[2].environment.at("THREADS"), "1");
  EXPECT_EQ(plan.workers[3].binding, std::nullopt);

  const json::value document = to_document(plan);
  const json::object& process = document.at("processes").at(1).as_object();
  EXPECT_EQ(json::serialize(process.at("binding")),
            R"({"cpus":"0-1","memory_nodes":"0","memory":"preferred","how":"near"})");
  EXPECT_FALSE(document.at("processes").at(3).as_object().contains("binding"));
}

TEST(BoundPlan, ReportsThatNoProcessCanBeBound) {
  JobRequest job = job_of({"train"});
  job.binding.emplace();

  const LaunchPlan plan =
      make_plan({cluster_of({2}, 0), mode_of({role("whole", RoleCount::PerNode)}), job, surroundings()});

  EXPECT_EQ(plan.notices.back(),
            "no process of this node is bound to CPUs: muster binds a process only if it has exactly one accelerator, "
            "or if an option names it");
}

}  // namespace
}  // namespace muster
