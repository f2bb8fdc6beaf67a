// Lists of devices: what is read, what is chosen, and what runtimes would take for something else.
#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "environment/devices.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Variables = std::map<std::string, std::string>;

std::string read(const std::string& list) {
  std::vector<std::string> texts;
  for (const DeviceEntry& entry : read_device_list(list)) {
    texts.push_back((entry.number ? "" : "named ") + entry.text);
  }
  return join(texts, " ");
}

TEST(DeviceList, EndsAtAnInvalidDevice) {
  EXPECT_EQ(read("0,3"), "0 3");
  EXPECT_EQ(read(" 0, 1 ,2"), "0 1 2");
  EXPECT_EQ(read("0,1,-1,2"), "0 1");
  EXPECT_EQ(read("0-2,GPU-5b6f,MIG-GPU-7/1/0"), "0 1 2 named GPU-5b6f named MIG-GPU-7/1/0");
  for (const char* const none : {"", "-1", "none", "x,0", ",0", "3-0", "0-", "-"}) {
    EXPECT_EQ(read(none), "") << none;
  }
}

TEST(DeviceList, HasAnEnd) {
  EXPECT_EQ(read_device_list("0-1000000,0-1000000").size(), 65'537U);
  EXPECT_FALSE(read_device_numbers("0-1000000"));
}

TEST(DeviceList, IsPlainWhereRuntimesOfGpusTakeItAsItReads) {
  for (const char* const list : {"", " ", "-1", "0", "0,1", " 1, 0 ", "0,", "0,1,-1,2", "0,-1,0", "GPU-5b6f,GPU-6",
                                 "MIG-a", "none", "void", "NoDevFiles"}) {
    EXPECT_TRUE(is_plain_device_list(list)) << list;
  }
  for (const char* const list : {"0-3", "0,0", "GPU-a,1,GPU-a", "01,2", "+1,2", "all", "0,x,2", "0,,2", ",0", ",",
                                 "0;1", "0 1", "-2", "0,none"}) {
    EXPECT_FALSE(is_plain_device_list(list)) << list;
  }
}

/// "CUDA_VISIBLE_DEVICES=0,2 without X", or the error.
std::string chosen(const std::string& list, const HostDevices& devices, const Variables& variables = {}) {
  Snapshot snapshot;
  snapshot.devices = devices;
  snapshot.variables = variables;
  const auto choice = choose_devices({list, from_flag("--devices")}, snapshot);
  if (!choice) {
    return choice.error().message;
  }
  EXPECT_EQ(split(choice->list, ',').size(), static_cast<std::size_t>(choice->count));
  return choice->variable + "=" + choice->list + (choice->unset.empty() ? "" : " without " + join(choice->unset, ","));
}

const HostDevices kNvidia = {.nvidia = 8};
const HostDevices kAscend = {.ascend = 8};
const HostDevices kAmd = {.amd = 8};

TEST(ChooseDevices, NamesTheVariableOfTheRuntime) {
  EXPECT_EQ(chosen("0,2,4-7", kNvidia), "CUDA_VISIBLE_DEVICES=0,2,4,5,6,7");
  EXPECT_EQ(chosen("7,0", kNvidia), "CUDA_VISIBLE_DEVICES=7,0");
  EXPECT_EQ(chosen("1-3", kAscend), "ASCEND_RT_VISIBLE_DEVICES=1,2,3");
  EXPECT_EQ(chosen("1-3", kAmd), "HIP_VISIBLE_DEVICES=1,2,3");
}

TEST(ChooseDevices, CountsVisibleDevices) {
  EXPECT_EQ(chosen("0,2", kNvidia, {{"CUDA_VISIBLE_DEVICES", "4,5,6,7"}}), "CUDA_VISIBLE_DEVICES=4,6");
  EXPECT_EQ(chosen("1", kNvidia, {{"CUDA_VISIBLE_DEVICES", "GPU-a,MIG-b"}}), "CUDA_VISIBLE_DEVICES=MIG-b");
  EXPECT_EQ(chosen("1", kAscend, {{"ASCEND_VISIBLE_DEVICES", "4-7"}}), "ASCEND_RT_VISIBLE_DEVICES=1")
      << "inside the container they are numbered from 0";
}

TEST(ChooseDevices, NeverMasksForRocrAndHip) {
  EXPECT_EQ(chosen("1", kAmd, {{"ROCR_VISIBLE_DEVICES", "4,5"}}), "ROCR_VISIBLE_DEVICES=5");
  EXPECT_EQ(chosen("1", kAmd, {{"HIP_VISIBLE_DEVICES", "4,5"}}), "HIP_VISIBLE_DEVICES=5");
  EXPECT_EQ(chosen("1", kAmd, {{"ROCR_VISIBLE_DEVICES", "4,5,GPU-x"}, {"HIP_VISIBLE_DEVICES", "0,2"}}),
            "ROCR_VISIBLE_DEVICES=GPU-x without HIP_VISIBLE_DEVICES");
}

TEST(ChooseDevices, LeavesHipNoListThatItWouldPrefer) {
  const Variables both = {{"CUDA_VISIBLE_DEVICES", "2,3"}, {"HIP_VISIBLE_DEVICES", "2,3"}};
  EXPECT_EQ(chosen("1", kAmd, both), "CUDA_VISIBLE_DEVICES=3 without HIP_VISIBLE_DEVICES");
}

TEST(ChooseDevices, RefusesAbsentDevices) {
  EXPECT_EQ(chosen("0,8", kNvidia),
            "--devices is '0,8', expected devices of this node, which has 8 (by "
            "/dev/nvidia[0-9]*), numbered from 0");
  EXPECT_EQ(chosen("4", kNvidia, {{"CUDA_VISIBLE_DEVICES", "4,5"}}),
            "--devices is '4', expected devices of this node, which has 2 (by "
            "CUDA_VISIBLE_DEVICES), numbered from 0");
  EXPECT_EQ(chosen("0", {}), "--devices is '0', expected devices of this node, which has 0");
  EXPECT_EQ(chosen("3,1", kAscend), "--devices is '3,1', expected ascending numbers: Ascend's runtime takes no others");
}

TEST(ChooseDevices, RefusesAnInvalidList) {
  for (const std::string list : {"", "a", "0,0", "0-3,2", "0,", "0, 1", "-1", "3-1", "GPU-5"}) {
    EXPECT_EQ(chosen(list, kNvidia),
              "--devices is '" + list + "', expected numbers of devices such as 0,2,4-7, each once");
  }
}

std::string complaint(const Variables& variables, const HostDevices& devices = {}) {
  Snapshot snapshot;
  snapshot.devices = devices;
  snapshot.variables = variables;
  const auto checked = check_device_lists(snapshot);
  return checked ? "" : checked.error().message;
}

TEST(DeviceLists, ForAscendAreAscending) {
  for (const char* const list : {"", "-1", "0", "0,1,7", "4,5"}) {
    EXPECT_EQ(complaint({{"ASCEND_RT_VISIBLE_DEVICES", list}}), "") << list;
  }
  for (const std::string list : {"1,0", "0,0", "0, 1", "0-3", "0,", "0;1", "a"}) {
    EXPECT_EQ(complaint({{"ASCEND_RT_VISIBLE_DEVICES", list}}),
              "ASCEND_RT_VISIBLE_DEVICES is '" + list +
                  "', expected numbers in ascending order with commas and nothing else in between: "
                  "Ascend's runtime would stop at the first that is not");
  }
  EXPECT_EQ(complaint({{"ASCEND_VISIBLE_DEVICES", "0-3"}}), "") << "the container's";
}

TEST(DeviceLists, OfGpusAreSingleDevices) {
  for (const std::string name : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    EXPECT_EQ(complaint({{name, "0-3"}}),
              name +
                  " is '0-3', expected single devices such as 0,1,2, each once: the runtime "
                  "would silently take fewer, or none");
    EXPECT_EQ(complaint({{name, "-1"}}), "");
    EXPECT_NE(complaint({{name, "0.1"}}), "") << "a tile of Intel's";
  }
}

TEST(DeviceLists, OfHipAndCudaAreTheSameWithoutNvidia) {
  const Variables differ = {{"CUDA_VISIBLE_DEVICES", "2,3"}, {"HIP_VISIBLE_DEVICES", "0,1"}};
  EXPECT_EQ(complaint(differ, kAmd),
            "HIP_VISIBLE_DEVICES is '0,1' but CUDA_VISIBLE_DEVICES is '2,3': HIP reads only "
            "HIP_VISIBLE_DEVICES; leave one of them out");
  EXPECT_EQ(complaint(differ, kNvidia), "");
  EXPECT_EQ(complaint({{"CUDA_VISIBLE_DEVICES", "0,1"}, {"HIP_VISIBLE_DEVICES", "0,1"}}, kAmd), "");
}

TEST(DeviceLists, OfHipCountWhatRocrLeaves) {
  EXPECT_EQ(complaint({{"ROCR_VISIBLE_DEVICES", "4,5"}, {"HIP_VISIBLE_DEVICES", "0,1"}}), "");
  EXPECT_EQ(complaint({{"ROCR_VISIBLE_DEVICES", "4,5"}, {"HIP_VISIBLE_DEVICES", "-1"}}), "");
  EXPECT_EQ(complaint({{"HIP_VISIBLE_DEVICES", "4,5"}}), "");
  EXPECT_EQ(complaint({{"ROCR_VISIBLE_DEVICES", "4,5"}, {"HIP_VISIBLE_DEVICES", "4,5"}}),
            "HIP_VISIBLE_DEVICES is '4,5' but ROCR_VISIBLE_DEVICES is '4,5': HIP numbers what ROCr "
            "has left, from 0; leave one of them out");
}

}  // namespace
}  // namespace muster
