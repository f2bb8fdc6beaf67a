// Orphans of mpirun's ranks: known by their adoptive parent, and looked for only when no rank lives.
#include "agent/workers.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace muster {
namespace {

constexpr pid_t kAgent = 10;
constexpr pid_t kMpirun = 11;

Process process(pid_t pid, pid_t parent) {
  return {.pid = pid, .parent = parent, .state = 'S', .name = {}};
}

std::vector<pid_t> left(std::vector<Process> found, const std::set<pid_t>& of_ranks) {
  found.insert(found.begin(), {process(kAgent, 1), process(kMpirun, kAgent)});
  static std::set<pid_t> ranks;
  ranks = of_ranks;
  std::vector<pid_t> pids;
  for (const Process& one : left_by_ranks(found, kAgent, [](pid_t pid) { return ranks.contains(pid); })) {
    pids.push_back(one.pid);
  }
  return pids;
}

TEST(RankOrphans, IsWhatHasComeToTheAgent) {
  EXPECT_EQ(left({process(20, kAgent), process(21, kAgent)}, {20, 21}), (std::vector<pid_t>{20, 21}));
}

TEST(RankOrphans, DescendantsBelongToItWhateverTheirEnvironment) {
  EXPECT_EQ(left({process(20, kAgent), process(21, 20), process(22, 21)}, {20}), (std::vector<pid_t>{20, 21, 22}));
}

TEST(RankOrphans, IsNotCheckedWhileARankOfMpirunLives) {
  EXPECT_TRUE(left({process(20, kAgent), process(30, kMpirun)}, {20, 30}).empty());
}

TEST(RankOrphans, IsNotCheckedWhileARankOfADaemonLives) {
  const pid_t daemon = 12;  // which left its session, and came to the agent
  EXPECT_TRUE(left({process(daemon, kAgent), process(30, daemon), process(20, kAgent)}, {20, 30}).empty());
}

TEST(RankOrphans, DaemonsAndCompanionsAreNone) {
  EXPECT_TRUE(left({process(12, kAgent), process(13, 12)}, {}).empty());
}

}  // namespace
}  // namespace muster
