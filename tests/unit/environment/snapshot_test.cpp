// The snapshot of this very process.
#include "environment/snapshot.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace muster {
namespace {

/// Replaces the whole environment of this process for the time of a test.
class Environment {
 public:
  explicit Environment(char** entries) : before_(environ) { environ = entries; }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { environ = before_; }

 private:
  char** before_;
};

std::map<std::string, std::string> variables_of(std::vector<std::string> entries) {
  std::vector<char*> pointers;
  for (std::string& entry : entries) {
    pointers.push_back(entry.data());
  }
  pointers.push_back(nullptr);
  const Environment environment(pointers.data());
  return take_snapshot().variables;
}

TEST(Snapshot, AnEmptyValueIsAValue) {
  Snapshot snapshot;
  snapshot.variables = {{"EMPTY", ""}, {"FULL", "x"}};

  EXPECT_EQ(snapshot.variable("EMPTY"), "");
  EXPECT_EQ(snapshot.variable("FULL"), "x");
  EXPECT_EQ(snapshot.variable("MISSING"), std::nullopt);
  EXPECT_TRUE(snapshot.has("EMPTY"));
  EXPECT_FALSE(snapshot.has("MISSING"));
}

TEST(TakeSnapshot, ReadsTheVariables) {
  const std::map<std::string, std::string> expected = {{"A", "1"}, {"B", ""}, {"C", "x=y"}};

  EXPECT_EQ(variables_of({"A=1", "B=", "C=x=y"}), expected);
}

TEST(TakeSnapshot, LetsTheFirstOfTwoWinAsGetenvDoes) {
  EXPECT_EQ(variables_of({"RANK=1", "RANK=2"}).at("RANK"), "1");
}

TEST(TakeSnapshot, SurvivesEntriesThatAreNoVariables) {
  const std::map<std::string, std::string> expected = {{"A", "1"}};

  EXPECT_EQ(variables_of({"no equals sign", "=starts with it", "", "A=1"}), expected);
}

TEST(TakeSnapshot, KnowsWhereItIs) {
  const Snapshot snapshot = take_snapshot();

  std::array<char, 256> host_name{};
  ASSERT_EQ(::gethostname(host_name.data(), host_name.size() - 1), 0);
  EXPECT_EQ(snapshot.host_name, host_name.data());
  EXPECT_TRUE(snapshot.working_directory.starts_with("/"));
  EXPECT_GE(snapshot.cores.count, 1);
}

TEST(CountHostDevices, IsNeverNegative) {
  const HostDevices devices = count_host_devices("");

  EXPECT_GE(devices.nvidia, 0);
  EXPECT_GE(devices.ascend, 0);
  EXPECT_GE(devices.amd, 0);
}

/// A root folder with these files and their first lines.
class Host {
 public:
  explicit Host(const std::map<std::string, std::string>& files) {
    for (const auto& [path, line] : files) {
      const std::filesystem::path file = folder_ / path;
      std::filesystem::create_directories(file.parent_path());
      std::ofstream(file) << line << "\n";
    }
  }
  ~Host() { std::filesystem::remove_all(folder_); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  HostDevices devices() const { return count_host_devices(folder_.string()); }

 private:
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("muster-devices-" + std::to_string(::getpid()));
};

TEST(CountHostDevices, CountsTheCoresOfNeuron) {
  const Host host({{"dev/neuron0", ""},
                   {"dev/neuron1", ""},
                   {"sys/class/neuron_device/neuron0/core_count", "8"},
                   {"sys/class/neuron_device/neuron1/core_count", "8"}});
  EXPECT_EQ(host.devices().neuron_cores, 16);
  EXPECT_EQ(host.devices().cores_of_neuron, 8);
}

TEST(CountHostDevices, CountsGaudiByItsMaker) {
  const Host host({{"dev/accel/accel0", ""},
                   {"dev/accel/accel1", ""},
                   {"sys/class/accel/accel0/device/vendor", "0x1da3"},
                   {"sys/class/accel/accel1/device/vendor", "0x8086"}});
  EXPECT_EQ(host.devices().gaudi, 1);
}

TEST(CountHostDevices, CountsTilesOfGpusOfDataCentres) {
  const Host host({{"dev/dri/renderD128", ""},
                   {"dev/dri/renderD129", ""},
                   {"sys/class/drm/renderD128/device/vendor", "0x8086"},
                   {"sys/class/drm/renderD128/device/class", "0x030000"},
                   {"sys/class/drm/renderD129/device/vendor", "0x8086"},
                   {"sys/class/drm/renderD129/device/class", "0x038000"},
                   {"sys/class/drm/renderD129/device/tile0/id", "0"},
                   {"sys/class/drm/renderD129/device/tile1/id", "1"}});
  EXPECT_EQ(host.devices().intel, 1);
  EXPECT_EQ(host.devices().intel_tiles, 2);
}

TEST(CountHostDevices, CountsChipsOfTpusAndNoNetworkCards) {
  const Host host({{"dev/vfio/0", ""},
                   {"dev/vfio/1", ""},
                   {"dev/vfio/vfio", ""},
                   {"sys/bus/pci/devices/0000:00:04.0/vendor", "0x1ae0"},
                   {"sys/bus/pci/devices/0000:00:04.0/device", "0x0042"},
                   {"sys/bus/pci/devices/0000:00:05.0/vendor", "0x1ae0"},
                   {"sys/bus/pci/devices/0000:00:05.0/device", "0x0063"},
                   {"sys/bus/pci/devices/0000:00:06.0/vendor", "0x1ae0"},
                   {"sys/bus/pci/devices/0000:00:06.0/device", "0x0063"}});
  EXPECT_EQ(host.devices().tpu, 2);
}

TEST(FindTableFile, ReadsTheOlderVariableLast) {
  Snapshot snapshot;
  EXPECT_FALSE(find_table_file(snapshot));
  snapshot.variables["MA_NUM_HOSTS"] = "1";
  EXPECT_EQ(find_table_file(snapshot)->value, "/user/config/jobstart_hccl.json");
  snapshot.rank_table = "/user/serverid/devindex/config";
  EXPECT_EQ(find_table_file(snapshot)->value, snapshot.rank_table);
  snapshot.variables["RANK_TABLE_FILE"] = "/old";
  EXPECT_EQ(find_table_file(snapshot)->value, "/old");
  snapshot.variables["RANK_TABLE_FILE_V_1_0"] = "/new";
  EXPECT_EQ(find_table_file(snapshot)->value, "/new");
}

}  // namespace
}  // namespace muster
