// CPUs, NUMA nodes, caches and accelerators of a host, read from files that a test writes.
#include "environment/cpu_topology.hpp"

#include "fake_host.hpp"

namespace muster {
namespace {

using Numbers = std::vector<int>;

/// Two packages of four cores, two threads each: CPUs 0-7 are the first threads, 8-15 the second.
void furnish(const FakeHost& host) {
  host.allow("0-15", "0-1");
  host.write("/sys/devices/system/cpu/online", "0-15");
  host.write("/sys/devices/system/node/has_memory", "0-1");
  host.add_node(0, "0-3,8-11");
  host.add_node(1, "4-7,12-15");
  for (int cpu = 0; cpu < 16; ++cpu) {
    const int core = cpu % 8;
    const int package = core / 4;
    host.add_cpu(cpu, package, std::to_string(core) + "," + std::to_string(core + 8),
                 package == 0 ? "0-3,8-11" : "4-7,12-15");
  }
}

TEST(Topology, KnowsWhatCpusShare) {
  const FakeHost host;
  furnish(host);

  const auto topology = read_topology(host.root());

  ASSERT_TRUE(topology) << topology.error().message;
  ASSERT_EQ(topology->cpus.size(), 16U);
  const CpuPlace& place = topology->cpus.at(13);
  EXPECT_EQ(place.core, 5);
  EXPECT_EQ(place.cache, 4);
  EXPECT_EQ(place.package, 1);
  EXPECT_EQ(place.numa_node, 1);
  EXPECT_EQ(topology->cpus.at(3).core, 3);
  EXPECT_EQ(topology->cpus.at(3).cache, 0);
  EXPECT_EQ(topology->memory_nodes, Numbers({0, 1}));
}

TEST(Topology, AllowsWhatTheCpusetLeavesAndIsOnline) {
  const FakeHost host;
  furnish(host);
  host.allow("2-3,10-31", "1");
  host.write("/sys/devices/system/cpu/online", "0-12");
  host.add_node(1, "4-7,12");

  const auto topology = read_topology(host.root());

  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->allowed_cpus, Numbers({2, 3, 10, 11, 12}));
  EXPECT_EQ(topology->memory_nodes, Numbers({1}));
}

/// LXCFS numbers the CPUs of a container from 0 in this one file.
TEST(Topology, AllowsCpusThatOnlyTheirNodeListsAsOnline) {
  const FakeHost host;
  furnish(host);
  host.allow("2-5", "0-1");
  host.write("/sys/devices/system/cpu/online", "0-3");

  const auto topology = read_topology(host.root());

  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->allowed_cpus, Numbers({2, 3, 4, 5}));
  EXPECT_EQ(topology->cpus.at(5).numa_node, 1);
}

TEST(Topology, AllowsTheAffinityWhereNoCpuIsShownOnline) {
  const FakeHost host;
  host.allow("16-19", "0");
  host.write("/sys/devices/system/cpu/online", "0-3");

  const auto topology = read_topology(host.root());

  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->allowed_cpus, Numbers({16, 17, 18, 19}));
  EXPECT_EQ(topology->cpus.at(16).numa_node, 0);
}

TEST(Topology, FailsWithAListThatIsNone) {
  const FakeHost host;
  host.allow("all", "0");

  const auto topology = read_topology(host.root());

  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().message, "cannot find out which CPUs this process may use: Cpus_allowed_list in '" +
                                          host.root() + "/proc/self/status' is 'all'");
}

TEST(Topology, IsOneNodeWhereTheKernelShowsNothing) {
  const FakeHost host;
  host.allow("0-3", "0");

  const auto topology = read_topology(host.root());

  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->allowed_cpus, Numbers({0, 1, 2, 3}));
  EXPECT_EQ(topology->cpus.at(3).numa_node, 0);
  EXPECT_EQ(topology->cpus.at(3).core, 3);
  EXPECT_EQ(topology->memory_nodes, Numbers());
  EXPECT_TRUE(topology->nvidia.empty());
}

TEST(Topology, TakesTheNodeForTheCacheWhereNoCacheIsShown) {
  const FakeHost host;
  furnish(host);
  std::filesystem::remove_all(host.root() + "/sys/devices/system/cpu/cpu5/cache");
  std::filesystem::remove_all(host.root() + "/sys/devices/system/cpu/cpu4/cache");

  const auto topology = read_topology(host.root());

  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->cpus.at(4).cache, 4);
  EXPECT_EQ(topology->cpus.at(5).cache, 4);
}

TEST(Topology, FailsWithoutProc) {
  const FakeHost host;

  const auto topology = read_topology(host.root());

  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().message, "cannot find out which CPUs this process may use: '" + host.root() +
                                          "/proc/self/status' has no Cpus_allowed_list");
}

TEST(Topology, ListsNvidiaInPciOrderWithoutDevicesHiddenFromTheContainer) {
  const FakeHost host;
  furnish(host);
  host.add_nvidia("0000:dc:00.0", 2, 1);
  host.add_nvidia("0000:1a:00.0", 5, 0);
  host.add_nvidia("0000:0f:00.0", 0, 0);  // of somebody else: no device file here
  for (const char* const name : {"nvidia2", "nvidia5", "nvidiactl", "nvidia-uvm"}) {
    host.write(std::string("/dev/") + name, "");
  }

  const auto topology = read_topology(host.root());

  ASSERT_TRUE(topology);
  ASSERT_EQ(topology->nvidia.size(), 2U);
  EXPECT_EQ(topology->nvidia[0].address, "0000:1a:00.0");
  EXPECT_EQ(topology->nvidia[0].uuid, "GPU-5aaa");
  EXPECT_EQ(topology->nvidia[0].model, "NVIDIA H100");
  EXPECT_EQ(topology->nvidia[0].numa_node, 0);
  EXPECT_EQ(topology->nvidia[1].numa_node, 1);
}

TEST(Topology, FindsNvidiaOnThePciBusWhereTheDriverHasNoList) {
  const FakeHost host;
  furnish(host);
  host.add_pci("0000:81:00.0", "0x10de", "0x030200", 1);
  host.add_pci("0000:01:00.0", "0x10de", "0x030000", 0);
  host.add_pci("0000:01:00.1", "0x10de", "0x040300", 0);  // its sound
  host.write("/dev/nvidia0", "");
  host.write("/dev/nvidia1", "");

  const auto topology = read_topology(host.root());

  ASSERT_TRUE(topology);
  ASSERT_EQ(topology->nvidia.size(), 2U);
  EXPECT_EQ(topology->nvidia[0].address, "0000:01:00.0");
  EXPECT_EQ(topology->nvidia[1].numa_node, 1);
}

TEST(Topology, DoesNotGuessWhichOfTheBusesGpusAreOurs) {
  const FakeHost host;
  furnish(host);
  host.add_pci("0000:81:00.0", "0x10de", "0x030200", 1);
  host.add_pci("0000:01:00.0", "0x10de", "0x030200", 0);
  host.write("/dev/nvidia1", "");

  const auto topology = read_topology(host.root());

  ASSERT_TRUE(topology);
  ASSERT_EQ(topology->nvidia.size(), 1U);
  EXPECT_EQ(topology->nvidia[0].numa_node, std::nullopt);
}

TEST(Topology, NumbersNpusByTheTableOfTheirDriver) {
  const FakeHost host;
  furnish(host);
  const std::string table = "C1:00.0 ---> 0\n0000:01:00.0 ---> 1";
  for (const auto& [address, node] : {std::pair("0000:01:00.0", 0), std::pair("0000:c1:00.0", 1)}) {
    host.add_pci(address, "0x19e5", "0x120000", node);
    host.write(std::string("/sys/bus/pci/devices/") + address + "/devdrv_sysfs_bdf_to_devid", table);
  }
  for (const char* const name : {"davinci0", "davinci1", "davinci2", "davinci_manager"}) {
    host.write(std::string("/dev/") + name, "");
  }

  const auto topology = read_topology(host.root());

  ASSERT_TRUE(topology);
  ASSERT_EQ(topology->ascend.size(), 3U);
  EXPECT_EQ(topology->ascend[0].address, "0000:c1:00.0");
  EXPECT_EQ(topology->ascend[0].numa_node, 1);
  EXPECT_EQ(topology->ascend[1].numa_node, 0);
  EXPECT_EQ(topology->ascend[2].numa_node, std::nullopt);
}

TEST(Topology, FindsAmdByTheLocationInTheKfd) {
  const FakeHost host;
  furnish(host);
  const std::string nodes = "/sys/class/kfd/kfd/topology/nodes/";
  host.write(nodes + "0/properties", "cpu_cores_count 8\nsimd_count 0");
  host.write(nodes + "10/properties", "simd_count 304\nlocation_id 768\ndomain 1\nunique_id 255");
  host.write(nodes + "2/properties", "simd_count 304\nlocation_id 49424\ndomain 0");
  host.add_pci("0000:c1:02.0", "0x1002", "0x038000", 1);
  host.add_pci("0001:03:00.0", "0x1002", "0x038000", -1);

  const auto topology = read_topology(host.root());

  ASSERT_TRUE(topology);
  ASSERT_EQ(topology->amd.size(), 2U);
  EXPECT_EQ(topology->amd[0].address, "0000:c1:02.0");
  EXPECT_EQ(topology->amd[0].numa_node, 1);
  EXPECT_EQ(topology->amd[1].address, "0001:03:00.0");
  EXPECT_EQ(topology->amd[1].numa_node, -1);
  EXPECT_EQ(topology->amd[1].uuid, "GPU-00000000000000ff");
}

}  // namespace
}  // namespace muster
