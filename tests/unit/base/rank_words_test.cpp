// What processes are called.
#include <muster/base/rank_words.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace muster {
namespace {

struct Named {
  std::string label;
  std::string role = "worker";
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

TEST(RankWords, CallNoSchedulerAWorker) {
  EXPECT_STREQ(noun_of(std::vector<Named>{{""}, {""}}), "worker");
  EXPECT_STREQ(noun_of(std::vector<Named>{{""}, {"scheduler"}}), "process");
  EXPECT_STREQ(noun_of(std::vector<Named>{{""}, {"", "scheduler"}}), "process");
  EXPECT_STREQ(noun_of(std::vector<Named>{{"", "trainer"}, {"", "trainer"}}), "worker");
  EXPECT_STREQ(noun_of(std::vector<Named>()), "worker");
}

}  // namespace
}  // namespace muster
