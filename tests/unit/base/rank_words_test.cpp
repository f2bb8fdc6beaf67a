// Names of processes in messages.
#include "base/ranks.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace muster {
namespace {

struct Named {
  std::string label;
  std::string role = "worker";
  GlobalRank global_rank{};
  bool is_unranked = false;
};

TEST(RankWords, CountRanks) {
  EXPECT_EQ(describe_ranks({}), "no rank");
  EXPECT_EQ(describe_ranks(std::vector{3}), "rank 3");
  EXPECT_EQ(describe_ranks(std::vector{0, 1, 2, 7}), "ranks 0-2, 7");
}

TEST(RankWords, NameALabelBesideTheRank) {
  EXPECT_EQ(describe_rank(GlobalRank{4}, ""), "rank 4");
  EXPECT_EQ(describe_rank(GlobalRank{4}, "ps 1"), "rank 4 (ps 1)");
}

TEST(RankWords, NameAProcessThatIsNoRankByItsLabel) {
  const Named mpirun{"mpirun", "mpirun", {}, true};
  const auto ranks = std::vector<Named>{{"", "", {7}}, {"", "", {0}}, {"ps 0", "", {1}}};
  EXPECT_EQ(describe_process(mpirun), "mpirun");
  EXPECT_EQ(describe_process(ranks[2]), "rank 1 (ps 0)");
  EXPECT_EQ(ProcessNames::of(ranks).describe(), "ranks 0-1, 7");
  EXPECT_EQ(ProcessNames::of(ranks).count("process"), "3 processes");

  auto names = ProcessNames::of(std::vector{mpirun});
  EXPECT_EQ(names.describe(), "mpirun");
  EXPECT_EQ(names.count("process"), "mpirun");
  names.add(ranks[0]);
  EXPECT_EQ(names.describe(), "mpirun, rank 7");
  EXPECT_EQ(names.count("process"), "2 processes");
  EXPECT_EQ(ProcessNames().describe(), "no rank");
  EXPECT_EQ(ProcessNames().count("worker"), "0 workers");
}

TEST(RankWords, CallNoSchedulerAWorker) {
  EXPECT_STREQ(noun_of(std::vector<Named>{{""}, {""}}), "worker");
  EXPECT_STREQ(noun_of(std::vector<Named>{{""}, {"scheduler"}}), "process");
  EXPECT_STREQ(noun_of(std::vector<Named>{{""}, {"", "scheduler"}}), "process");
  EXPECT_STREQ(noun_of(std::vector<Named>{{"", "trainer"}, {"", "trainer"}}), "worker");
  EXPECT_STREQ(noun_of(std::vector<Named>()), "worker");
}

}  // namespace
}  // namespace muster
