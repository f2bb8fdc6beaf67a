// The number of workers per node, for each form of request and each sign of a device.
#include "environment/accelerators.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

const Sourced<std::string> kAuto = {"auto", {}};

Snapshot host_with(const HostDevices& devices) {
  Snapshot snapshot;
  snapshot.devices = devices;
  snapshot.cores = {.count = 96, .source = "affinity"};
  return snapshot;
}

Snapshot host_with(const HostDevices& devices, const std::string& name, const std::string& value) {
  Snapshot snapshot = host_with(devices);
  snapshot.variables[name] = value;
  return snapshot;
}

/// "8 by /dev/nvidia[0-9]*", or the error.
std::string counted(const Sourced<std::string>& wanted, const Snapshot& snapshot) {
  const auto slots = count_slots(wanted, snapshot);
  return slots ? std::to_string(slots->value) + " by " + slots->source.name : slots.error().message;
}

std::string counted_list(const std::string& variable, const std::string& list) {
  return counted(kAuto, host_with({.nvidia = 8, .ascend = 8, .amd = 8}, variable, list));
}

TEST(CountSlots, AutoPrefersNvidiaThenAscendThenAmd) {
  EXPECT_EQ(counted(kAuto, host_with({.nvidia = 2, .ascend = 4, .amd = 8})), "2 by /dev/nvidia[0-9]*");
  EXPECT_EQ(counted(kAuto, host_with({.nvidia = 0, .ascend = 4, .amd = 8})), "4 by /dev/davinci[0-9]*");
  EXPECT_EQ(counted(kAuto, host_with({.nvidia = 0, .ascend = 0, .amd = 8})), "8 by /sys/class/kfd/kfd/topology");
}

TEST(CountSlots, AutoCountsTheCoresThatNeuronsRuntimeShows) {
  const HostDevices trainium1 = {.neuron_cores = 32, .cores_of_neuron = 2};
  const HostDevices trainium2 = {.neuron_cores = 128, .cores_of_neuron = 8};
  EXPECT_EQ(counted(kAuto, host_with(trainium1)), "32 by /dev/neuron[0-9]*");
  EXPECT_EQ(counted(kAuto, host_with(trainium2)), "64 by /dev/neuron[0-9]*");
  EXPECT_EQ(counted(kAuto, host_with(trainium2, "NEURON_LOGICAL_NC_CONFIG", "1")), "128 by /dev/neuron[0-9]*");
  EXPECT_EQ(counted(kAuto, host_with(trainium2, "NEURON_RT_VISIBLE_CORES", "8-15")), "8 by NEURON_RT_VISIBLE_CORES");
}

TEST(CountSlots, AutoCountsGaudiIntelAndTpu) {
  EXPECT_EQ(counted(kAuto, host_with({.gaudi = 8})), "8 by /dev/accel/accel[0-9]*");
  EXPECT_EQ(counted(kAuto, host_with({.gaudi = 8}, "HABANA_VISIBLE_MODULES", "all")), "8 by /dev/accel/accel[0-9]*");
  EXPECT_EQ(counted(kAuto, host_with({.gaudi = 4}, "HABANA_VISIBLE_MODULES", "4,5,6,7")),
            "4 by HABANA_VISIBLE_MODULES");
  const HostDevices intel = {.intel = 6, .intel_tiles = 12};
  EXPECT_EQ(counted(kAuto, host_with(intel)), "12 by /dev/dri/renderD[0-9]*");
  EXPECT_EQ(counted(kAuto, host_with(intel, "ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE")), "6 by /dev/dri/renderD[0-9]*");
  EXPECT_EQ(counted(kAuto, host_with(intel, "ZE_AFFINITY_MASK", "0.0,0.1,1.0")), "3 by ZE_AFFINITY_MASK");
  EXPECT_EQ(counted({"xpu", {}}, host_with(intel)), "12 by /dev/dri/renderD[0-9]*");
  EXPECT_EQ(counted(kAuto, host_with({.tpu = 4})), "4 by TPU chips on PCI");
}

TEST(CountSlots, AutoIsOneWorkerWithoutAccelerators) {
  EXPECT_EQ(counted(kAuto, host_with({})), "1 by default");
  EXPECT_EQ(counted({"auto", from_flag("--nproc-per-node")}, host_with({})), "1 by --nproc-per-node");
}

TEST(CountSlots, EachVariableDecidesOverTheFiles) {
  EXPECT_EQ(counted_list("CUDA_VISIBLE_DEVICES", "0,3"), "2 by CUDA_VISIBLE_DEVICES");
  for (const std::string name : {"ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES"}) {
    EXPECT_EQ(counted(kAuto, host_with({.nvidia = 0, .ascend = 8, .amd = 0}, name, "0,3")), "2 by " + name);
  }
  for (const std::string name : {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    EXPECT_EQ(counted(kAuto, host_with({.nvidia = 0, .ascend = 0, .amd = 8}, name, "0,3")), "2 by " + name);
  }
}

TEST(CountSlots, TheRuntimesOwnVariableBeatsTheContainers) {
  Snapshot snapshot = host_with({.ascend = 8});
  snapshot.variables = {{"ASCEND_VISIBLE_DEVICES", "0-7"}, {"ASCEND_RT_VISIBLE_DEVICES", "0,1"}};
  EXPECT_EQ(counted(kAuto, snapshot), "2 by ASCEND_RT_VISIBLE_DEVICES");

  snapshot.variables = {{"ROCR_VISIBLE_DEVICES", "0,1,2,3"}, {"HIP_VISIBLE_DEVICES", "1"}};
  snapshot.devices = {.nvidia = 0, .ascend = 0, .amd = 8};
  EXPECT_EQ(counted(kAuto, snapshot), "1 by HIP_VISIBLE_DEVICES");
}

TEST(CountSlots, AListThatHidesEveryDeviceDecidesToo) {
  for (const std::string list : {"", "-1", "none", "void", "NoDevFiles", ",0"}) {
    EXPECT_EQ(counted(kAuto, host_with({.nvidia = 8, .ascend = 0, .amd = 0}, "CUDA_VISIBLE_DEVICES", list)),
              "1 by default")
        << list;
  }
}

TEST(CountSlots, HiddenDevicesOfOneKindLeaveTheNextKind) {
  EXPECT_EQ(counted(kAuto, host_with({.nvidia = 8, .ascend = 4, .amd = 0}, "CUDA_VISIBLE_DEVICES", "")),
            "4 by /dev/davinci[0-9]*");
}

TEST(CountSlots, AListEndsAtItsFirstEntryThatIsNoDevice) {
  EXPECT_EQ(counted_list("CUDA_VISIBLE_DEVICES", "0,1,-1,2"), "2 by CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(counted_list("CUDA_VISIBLE_DEVICES", "0,x,2"), "1 by CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(counted_list("CUDA_VISIBLE_DEVICES", "0,,2"), "1 by CUDA_VISIBLE_DEVICES");
}

TEST(CountSlots, ListsTakeIndicesNamesAndBlanks) {
  EXPECT_EQ(counted_list("CUDA_VISIBLE_DEVICES", " 0, 1 ,2"), "3 by CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(counted_list("CUDA_VISIBLE_DEVICES",
                         "GPU-5b6f3f2a-0d3a-4c9e-a2e5-6f3b8d1c7e90,MIG-GPU-5b6f3f2a/1/2,"
                         "MIG-3e1c9a0b-17c2-5d4f-8a6e-9b2d4c5f7a81"),
            "3 by CUDA_VISIBLE_DEVICES");
}

TEST(CountSlots, ContainerListsTakeRanges) {
  const auto count = [](const std::string& list) {
    return counted(kAuto, host_with({.nvidia = 0, .ascend = 8, .amd = 0}, "ASCEND_VISIBLE_DEVICES", list));
  };
  EXPECT_EQ(count("0-7"), "8 by ASCEND_VISIBLE_DEVICES");
  EXPECT_EQ(count("0-3,6,7"), "6 by ASCEND_VISIBLE_DEVICES");
  EXPECT_EQ(count("4-4"), "1 by ASCEND_VISIBLE_DEVICES");
  EXPECT_EQ(count("3-0"), "1 by default");
  EXPECT_EQ(count("0-"), "1 by default");
}

TEST(CountSlots, AListOfAbsurdLengthIsAnErrorAndNoOverflow) {
  std::string list = "0-1000000";
  for (int i = 0; i < 3'000; ++i) {
    list += ",0-1000000";
  }
  const auto slots =
      count_slots(kAuto, host_with({.nvidia = 0, .ascend = 8, .amd = 0}, "ASCEND_VISIBLE_DEVICES", list));

  ASSERT_FALSE(slots);
  EXPECT_EQ(slots.error().kind, ErrorKind::BadEnvironment);
  EXPECT_TRUE(slots.error().message.starts_with("ASCEND_VISIBLE_DEVICES is '0-1000000,"));
}

TEST(CountSlots, GpuMeansNvidiaElseAmd) {
  const Sourced<std::string> gpu = {"gpu", from_flag("--nproc-per-node")};
  EXPECT_EQ(counted(gpu, host_with({.nvidia = 2, .ascend = 4, .amd = 8})), "2 by /dev/nvidia[0-9]*");
  EXPECT_EQ(counted(gpu, host_with({.nvidia = 0, .ascend = 4, .amd = 8})), "8 by /sys/class/kfd/kfd/topology");
}

TEST(CountSlots, NpuMeansAscend) {
  EXPECT_EQ(counted({"npu", from_flag("--nproc-per-node")}, host_with({.nvidia = 2, .ascend = 4, .amd = 8})),
            "4 by /dev/davinci[0-9]*");
}

TEST(CountSlots, CpuMeansTheAllowedCores) {
  EXPECT_EQ(counted({"cpu", from_flag("--nproc-per-node")}, host_with({.nvidia = 8, .ascend = 0, .amd = 0})),
            "96 by affinity");
}

TEST(CountSlots, ANumberIsThatNumber) {
  EXPECT_EQ(counted({"3", from_flag("--nproc-per-node")}, host_with({.nvidia = 8, .ascend = 0, .amd = 0})),
            "3 by --nproc-per-node");
  EXPECT_EQ(counted({"65536", from_variable("PET_NPROC_PER_NODE")}, host_with({})), "65536 by PET_NPROC_PER_NODE");
}

TEST(CountSlots, RefusesADeviceKindThatIsAbsent) {
  EXPECT_EQ(counted({"gpu", from_flag("--nproc-per-node")}, host_with({.ascend = 8})),
            "--nproc-per-node is 'gpu', but there is no GPU on this node (by /dev/nvidia[0-9]*); "
            "give a number to start workers without one");
  EXPECT_EQ(counted({"npu", from_flag("--nproc-per-node")},
                    host_with({.nvidia = 8, .ascend = 8, .amd = 0}, "ASCEND_RT_VISIBLE_DEVICES", "")),
            "--nproc-per-node is 'npu', but there is no NPU on this node (by "
            "ASCEND_RT_VISIBLE_DEVICES); give a number to start workers without one");
}

TEST(CountSlots, RefusesAnInvalidCount) {
  for (const std::string text :
       {"", "0", "-1", "+1", " 1", "1 ", "01", "1.0", "65537", "99999999999", "gpus", "GPU", "all"}) {
    const auto slots =
        count_slots({text, from_flag("--nproc-per-node")}, host_with({.nvidia = 8, .ascend = 0, .amd = 0}));
    ASSERT_FALSE(slots) << text;
    EXPECT_EQ(slots.error().message, "--nproc-per-node is '" + text +
                                         "', expected a number from 1 to 65536, or auto, gpu, npu, xpu "
                                         "or cpu");
  }
}

TEST(CountSlots, NamesTheSourceOfTheCount) {
  for (const std::string text : {"0", "gpu", "npu"}) {
    EXPECT_EQ(count_slots({text, from_flag("--nproc-per-node")}, host_with({})).error().kind, ErrorKind::BadUsage);
    EXPECT_EQ(count_slots({text, from_option("MUSTER_NPROC_PER_NODE")}, host_with({})).error().kind,
              ErrorKind::BadEnvironment);
    EXPECT_EQ(count_slots({text, from_variable("PET_NPROC_PER_NODE")}, host_with({})).error().kind,
              ErrorKind::BadEnvironment);
  }
}

TEST(FilesWithoutAscendDevices, AreThoseOfANodeThatLacksOne) {
  const auto lacking = [](std::vector<int> files, std::map<std::string, std::string> variables) {
    Snapshot snapshot;
    snapshot.devices.ascend = static_cast<int>(files.size());
    snapshot.devices.ascend_ids = std::move(files);
    snapshot.variables = std::move(variables);
    return files_without_ascend_devices(snapshot, {4, 5, 6});
  };
  const std::vector<int> none;
  EXPECT_EQ(lacking({0, 1}, {}), (std::vector<int>{0, 1}));
  EXPECT_EQ(lacking({0, 1, 2, 3}, {}), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(lacking({0, 1}, {{"ASCEND_VISIBLE_DEVICES", "4-6"}}), (std::vector<int>{0, 1}));
  EXPECT_EQ(lacking({0, 1, 2}, {}), none) << "a container that numbers its own";
  EXPECT_EQ(lacking({0, 1, 2}, {{"ASCEND_VISIBLE_DEVICES", "4-6"}}), none);
  EXPECT_EQ(lacking({0, 1, 2, 3, 4, 5, 6, 7}, {}), none);
  EXPECT_EQ(lacking({}, {}), none) << "no file says anything";
}

TEST(AscendRuntimeNumbers, AreWhatThisProcessCallsTheDevices) {
  const std::vector<int> upper = {4, 5};
  Snapshot host = host_with({.ascend = 8});
  EXPECT_EQ(ascend_runtime_numbers(host, upper), upper);
  host.variables["ASCEND_RT_VISIBLE_DEVICES"] = "3,4,5";
  EXPECT_EQ(ascend_runtime_numbers(host, upper), (std::vector<int>{1, 2}));
  const Snapshot container = host_with({.ascend = 2});
  EXPECT_EQ(ascend_runtime_numbers(container, upper), (std::vector<int>{0, 1}));
  EXPECT_EQ(ascend_runtime_numbers(container, {5, 4}), (std::vector<int>{1, 0}));
  EXPECT_EQ(ascend_runtime_numbers(host_with({}), upper), upper);
  Snapshot given = host_with({}, "ASCEND_VISIBLE_DEVICES", "Ascend910-4,Ascend910-5");
  EXPECT_EQ(ascend_runtime_numbers(given, {5, 4}), (std::vector<int>{1, 0}));
  given.variables["ASCEND_RT_VISIBLE_DEVICES"] = "1";
  EXPECT_EQ(ascend_runtime_numbers(given, {5}), std::vector<int>{0});
  EXPECT_EQ(visible_ascend_devices(given), std::vector<int>{5});
  EXPECT_TRUE(ascend_runtime_numbers(host, {}).empty());
}

TEST(VisibleAscendDevices, AreThoseThatAListLeaves) {
  Snapshot host = host_with({.ascend = 8});
  EXPECT_TRUE(visible_ascend_devices(host).empty());
  EXPECT_TRUE(has_ascend_devices(host));
  host.variables["ASCEND_VISIBLE_DEVICES"] = "4-6";
  EXPECT_EQ(visible_ascend_devices(host), (std::vector<int>{4, 5, 6}));
  host.variables["ASCEND_RT_VISIBLE_DEVICES"] = "5";
  EXPECT_EQ(visible_ascend_devices(host), std::vector<int>{5});
  EXPECT_FALSE(has_ascend_devices(host_with({})));
}

TEST(DevicesOfWorkers, AreTheFirstOfTheListOrOfTheHost) {
  const std::vector<std::string> three = {"0", "1", "2"};
  EXPECT_EQ(devices_of_workers(host_with({.nvidia = 8}), 3), three);
  EXPECT_EQ(devices_of_workers(host_with({.amd = 3}), 8), three);
  const std::vector<std::string> named = {"5", "GPU-5b6f"};
  EXPECT_EQ(devices_of_workers(host_with({.nvidia = 8}, "CUDA_VISIBLE_DEVICES", "5,GPU-5b6f,7"), 2), named);
}

TEST(DevicesOfWorkers, AreUnknownWithoutFilesOfTheDevices) {
  EXPECT_TRUE(devices_of_workers(host_with({}), 2).empty());
  EXPECT_TRUE(devices_of_workers(host_with({}, "CUDA_VISIBLE_DEVICES", "0,1"), 2).empty());
  EXPECT_TRUE(devices_of_workers(host_with({.amd = 2}, "CUDA_VISIBLE_DEVICES", "0,1"), 2).empty());
}

}  // namespace
}  // namespace muster
