// Clients that the store disconnects when there are too many connections.
#include "services/torch_store/answers.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace muster::store {
namespace {

const Process kRank{"10.0.0.1", 11};
const Process kStranger{"10.0.0.1", std::nullopt};

/// So many more of that process, with the numbers that follow.
void hold(std::vector<ClientMemory>& all, std::size_t count, const Process& process, bool has_asked) {
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back({all.size() + 1, process, has_asked});
  }
}

TEST(Shares, AreKeptWhereNoProcessHasMore) {
  EXPECT_EQ(largest_holder({}, 2).connections, 0U);
  std::vector<ClientMemory> all;
  hold(all, 2, kRank, true);
  hold(all, 1, kStranger, false);
  const LargestHolder holder = largest_holder(all, 2);
  EXPECT_EQ(holder.process, kRank);
  EXPECT_EQ(holder.connections, 2U);
  EXPECT_TRUE(holder.to_close.empty());
}

TEST(Shares, AreHalfOfTheSilentOnesFromTheMiddle) {
  std::vector<ClientMemory> all;
  hold(all, 2, kStranger, true);
  hold(all, 8, kStranger, false);  // 3 to 10
  hold(all, 2, kRank, true);
  const LargestHolder holder = largest_holder(all, 2);
  EXPECT_EQ(holder.process, kStranger);
  EXPECT_EQ(holder.connections, 10U);
  EXPECT_EQ(holder.to_close, (std::vector<ClientId>{5, 6, 7, 8}));
}

TEST(Shares, AreNoMoreThanWhatIsTooMuch) {
  std::vector<ClientMemory> all;
  hold(all, 10, kStranger, false);
  EXPECT_EQ(largest_holder(all, 8).to_close, (std::vector<ClientId>{5, 6}));
  EXPECT_EQ(largest_holder(all, 9).to_close, std::vector<ClientId>{5});
}

TEST(Shares, AreTheNewestWhereAllHaveAsked) {
  std::vector<ClientMemory> all;
  hold(all, 3, kRank, true);
  hold(all, 7, kStranger, true);  // 4 to 10
  EXPECT_EQ(largest_holder(all, 2).to_close, (std::vector<ClientId>{7, 8, 9, 10}));
  EXPECT_EQ(largest_holder(all, 6).to_close, std::vector<ClientId>{10});
}

TEST(Shares, OfASingleSilentOneAreThatOne) {
  std::vector<ClientMemory> all;
  hold(all, 1, kStranger, false);
  hold(all, 5, kStranger, true);
  EXPECT_EQ(largest_holder(all, 2).to_close, std::vector<ClientId>{1});
}

}  // namespace
}  // namespace muster::store
