#include "preflight/read_facts.hpp"

#include "environment/fake_host.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace muster::preflight {
namespace {

class ReadFacts : public testing::Test {
 protected:
  Facts read() const {
    FactSources sources;
    sources.root = host_.root();
    sources.version = "0.1";
    sources.interpreter = interpreter_;
    sources.open_files = 1'024;
    sources.cpus = 8;
    return read_facts(sources);
  }

  std::string text(const char* name) const {
    const Facts facts = read();
    const auto found = facts.texts.find(name);
    return found == facts.texts.end() ? "" : found->second;
  }

  void add_port(const std::string& path, const std::string& state, const std::string& rate) const {
    host_.write("/sys/class/infiniband/" + path + "/state", state);
    host_.write("/sys/class/infiniband/" + path + "/rate", rate);
  }

  void add_interface(const std::string& name, const std::string& mtu, const std::string& speed) const {
    host_.write("/sys/class/net/" + name + "/mtu", mtu);
    host_.write("/sys/class/net/" + name + "/speed", speed);
  }

  FakeHost host_;
  std::string interpreter_;
};

TEST_F(ReadFacts, TellsOfAnEmptyHostOnlyWhatTheCallerKnows) {
  const Facts facts = read();

  EXPECT_EQ(facts.texts, (std::map<std::string_view, std::string>{{"muster", "0.1"}, {"driver", "not known"}}));
  EXPECT_EQ(facts.numbers.at("open files"), 1'024);
  EXPECT_EQ(facts.numbers.at("CPUs"), 8);
  EXPECT_EQ(facts.numbers.at("memory limit"), kNoLimit);
  EXPECT_FALSE(facts.numbers.contains("memory"));
  EXPECT_TRUE(facts.sets.empty()) << "nobody knows what there is without /sys";
}

TEST_F(ReadFacts, TellsOnlyTheSetsWhoseFoldersItCanList) {
  const auto make = [&](const char* folder) { std::filesystem::create_directories(host_.root() + folder); };
  make("/sys/module");
  make("/sys/class");
  Facts facts = read();
  EXPECT_FALSE(facts.texts.contains("driver")) << "it is known that there is none";
  EXPECT_TRUE(facts.sets.at("port").empty()) << "it is known that there is none";
  EXPECT_EQ(facts.sets.size(), 1U);

  make("/sys/bus/pci/devices");
  make("/sys/class/net");
  EXPECT_FALSE(read().sets.contains("interface")) << "routes are not known";
  host_.write("/proc/net/route", "Iface\tDestination");
  facts = read();
  EXPECT_TRUE(facts.sets.at("device").empty());
  EXPECT_TRUE(facts.sets.at("interface").empty());

  host_.write("/sys/class/infiniband", "no folder");
  EXPECT_FALSE(read().sets.contains("port"));
}

TEST_F(ReadFacts, KnowsNoNumberOfAMDsDevicesWithoutTheirFolder) {
  host_.write("/dev/kfd", "");
  EXPECT_EQ(text("devices"), kNotKnown);
  std::filesystem::create_directories(host_.root() + "/sys/class/kfd");
  EXPECT_EQ(text("devices"), "");
}

TEST_F(ReadFacts, FindsTheDriverOfEachVendor) {
  host_.write("/usr/local/Ascend/driver/version.info", "Version=24.1.rc2\nascendhal_version=7.35");
  EXPECT_EQ(text("driver"), "24.1.rc2");
  host_.write("/sys/module/nvidia/version", "570.86.15");
  EXPECT_EQ(text("driver"), "570.86.15");
  host_.write("/proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025");
  EXPECT_EQ(text("driver"), "580.95.05");
  host_.write("/proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.06  Release Build  (root@host)");
  EXPECT_EQ(text("driver"), "580.95.06");
}

TEST_F(ReadFacts, FindsToolkits) {
  host_.write("/usr/local/cuda/version.json", R"({"cuda":{"name":"CUDA SDK","version":"12.8.1"}})");
  host_.write("/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info",
              "package_name=Ascend-cann-toolkit\nversion=8.0.0\n");
  EXPECT_EQ(text("CUDA"), "12.8.1");
  EXPECT_EQ(text("CANN"), "8.0.0");
  host_.write("/usr/local/cuda/version.json", "[1,");
  EXPECT_EQ(text("CUDA"), "");
}

TEST_F(ReadFacts, FindsThePackagesOfTheInterpreterByTheirFolders) {
  namespace fs = std::filesystem;
  host_.write("/usr/bin/python3.11", "");
  host_.write("/usr/lib/python3/dist-packages/torch-1.0.dist-info/METADATA", "");
  host_.write("/usr/lib/python3/dist-packages/jax-0.7.1.dist-info/METADATA", "");
  host_.write("/venv/bin/activate", "");
  fs::create_symlink("../../usr/bin/python3.11", host_.root() + "/venv/bin/python3");
  const std::string packages = "/venv/lib/python3.11/site-packages/";
  for (const char* name : {"torch-2.7.1+cu128.dist-info", "nvidia_nccl_cu12-2.26.2.dist-info",
                           "torchvision-0.2.dist-info", "torch-.egg-info", "-1.dist-info", "torch_npu.dist-info"}) {
    host_.write(packages + name + "/METADATA", "");
  }
  interpreter_ = "/venv/bin/python3";

  EXPECT_EQ(text("Python"), "3.11");
  EXPECT_EQ(text("torch"), "2.7.1+cu128") << "the environment's, not that of the system";
  EXPECT_EQ(text("NCCL"), "2.26.2");
  EXPECT_EQ(text("jax"), "0.7.1");
  EXPECT_EQ(text("torch_npu"), "");
}

/// Folders of other versions of Python stay below a prefix, and their order on disk is another on each node.
TEST_F(ReadFacts, TakesPackagesOfTheInterpretersOwnVersionOfPython) {
  const auto add_package = [&](const std::string& python, const std::string& package) {
    host_.write("/opt/lib/" + python + "/site-packages/" + package + ".dist-info/METADATA", "");
  };
  host_.write("/opt/bin/python3.12", "");
  std::filesystem::create_symlink("python3.12", host_.root() + "/opt/bin/python");
  interpreter_ = "/opt/bin/python";
  for (const char* python : {"python3.8", "python3.10", "python3.12t", "python3.13"}) {
    add_package(python, "torch-2.1.0");
  }
  add_package("python3.12", "torch-2.9.0");
  add_package("python3.12", "jax-0.7.1");
  add_package("python3.12", "jax-0.7.2");
  add_package("python3.12", "nvidia_nccl_cu12-2.26.2");
  add_package("python3.12", "nvidia_nccl_cu13-2.26.2");

  EXPECT_EQ(text("Python"), "3.12");
  EXPECT_EQ(text("torch"), "2.9.0");
  EXPECT_EQ(text("jax"), kNotKnown) << "either may be the one that is imported";
  EXPECT_EQ(text("NCCL"), "2.26.2");

  host_.write("/opt/bin/python3", "a file of its own, whose name tells no version");
  interpreter_ = "/opt/bin/python3";
  EXPECT_EQ(text("Python"), kNotKnown);
  EXPECT_EQ(text("torch"), kNotKnown);
  EXPECT_EQ(text("NCCL"), "2.26.2");
}

TEST_F(ReadFacts, CountsDevicesAndTheirLinks) {
  for (int i = 0; i < 2; ++i) {
    const std::string address = "0000:0" + std::to_string(i) + ":00.0";
    host_.write("/dev/nvidia" + std::to_string(i), "");
    host_.add_nvidia(address, i, 0);
    host_.write("/sys/bus/pci/devices/" + address + "/current_link_width", i == 0 ? "16" : "8");
    host_.write("/sys/bus/pci/devices/" + address + "/max_link_speed", "32.0 GT/s PCIe");
    host_.write("/sys/bus/pci/devices/" + address + "/current_link_speed", "2.5 GT/s PCIe");
  }
  const Facts facts = read();

  EXPECT_EQ(facts.texts.at("devices"), "2 NVIDIA H100");
  EXPECT_EQ(facts.sets.at("device"),
            (Facts::Set{{"0000:00:00.0", "x16 32.0 GT/s PCIe"}, {"0000:01:00.0", "x8 32.0 GT/s PCIe"}}));
}

TEST_F(ReadFacts, LeavesOutLinksThatAVirtualMachineDoesNotKnow) {
  host_.write("/dev/nvidia0", "");
  host_.add_nvidia("0000:00:00.0", 0, 0);
  host_.write("/sys/bus/pci/devices/0000:00:00.0/current_link_width", "0");
  host_.write("/sys/bus/pci/devices/0000:00:00.0/max_link_speed", "Unknown");
  EXPECT_TRUE(read().sets.at("device").empty());
}

TEST_F(ReadFacts, ListsPortsWithoutVirtualFunctions) {
  add_port("mlx5_0/ports/1", "4: ACTIVE", "400 Gb/sec (4X NDR)");
  add_port("mlx5_1/ports/1", "1: DOWN", "400 Gb/sec (4X NDR)");
  add_port("mlx4_0/ports/1", "4: ACTIVE", "56 Gb/sec (4X FDR)");
  add_port("mlx4_0/ports/2", "2: INIT", "10 Gb/sec (4X)");
  add_port("mlx5_9/ports/1", "4: ACTIVE", "400 Gb/sec (4X NDR)");
  host_.write("/sys/class/infiniband/mlx5_9/device/physfn/vendor", "");

  EXPECT_EQ(read().sets.at("port"),
            (Facts::Set{{"mlx5_0", "400 Gb/s"}, {"mlx5_1", "down"}, {"mlx4_0/1", "56 Gb/s"}, {"mlx4_0/2", "down"}}));
}

TEST_F(ReadFacts, ListsTheInterfacesByWhichRoutesLeave) {
  host_.write("/proc/net/route",
              "Iface\tDestination\nens1\t00000000\nens1\t0000000A\ndocker0\t0\neth0\t1\nveth1a2b\t2\nens2\t3\ngone\t4");
  for (const char* name : {"ens1", "ens2", "idle"}) {
    host_.write("/sys/class/net/" + std::string(name) + "/device/vendor", "");
  }
  add_interface("ens1", "9000", "25000");
  add_interface("ens2", "1500", "2500");
  add_interface("idle", "1500", "-1");
  add_interface("docker0", "1500", "-1");
  add_interface("veth1a2b", "1500", "10000");
  add_interface("eth0", "8950", "-1");

  EXPECT_EQ(read().sets.at("interface"),
            (Facts::Set{{"ens1", "25 Gb/s, MTU 9000"}, {"ens2", "2.50 Gb/s, MTU 1500"}, {"eth0", "MTU 8950"}}));
}

TEST_F(ReadFacts, ReadsMemoryAndLimits) {
  host_.write("/proc/meminfo", "MemTotal:       2113402572 kB\nMemFree:  1 kB");
  host_.write("/proc/self/limits",
              "Limit                     Soft Limit           Hard Limit           Units     \n"
              "Max processes             8254863              unlimited            processes \n"
              "Max locked memory         unlimited            unlimited            bytes     ");
  host_.write("/proc/sys/kernel/osrelease", "5.15.0-1066-aws");
  host_.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
  const Facts facts = read();

  EXPECT_EQ(facts.numbers.at("memory"), 2'113'402'572.0 * 1'024);
  EXPECT_EQ(facts.numbers.at("processes"), 8'254'863);
  EXPECT_EQ(facts.numbers.at("locked memory"), kNoLimit);
  EXPECT_EQ(facts.texts.at("kernel"), "5.15.0-1066-aws");
  EXPECT_EQ(facts.texts.at("governor"), "performance");
}

TEST_F(ReadFacts, AsksFileSystemsForTheirRoom) {
  std::filesystem::create_directories(host_.root() + "/dev/shm");
  EXPECT_GT(read().numbers.at("/dev/shm"), 0);

  const Facts facts = read_room({{"room for logs", host_.root()}, {"room for the run", host_.root() + "/missing"}});
  EXPECT_GT(facts.numbers.at("room for logs"), 0);
  EXPECT_FALSE(facts.numbers.contains("room for the run"));
}

}  // namespace
}  // namespace muster::preflight
