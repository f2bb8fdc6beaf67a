// The snapshot of this very process.
#include <muster/environment/snapshot.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <cstdlib>

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
  const HostDevices devices = count_host_devices();

  EXPECT_GE(devices.nvidia, 0);
  EXPECT_GE(devices.ascend, 0);
  EXPECT_GE(devices.amd, 0);
}

}  // namespace
}  // namespace muster
