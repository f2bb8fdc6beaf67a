// Links of strangers that the leader closes, and those that it keeps.
#include "gang/protocol/link_budget.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::gang {
namespace {

using Trust = LinkBudget::Trust;

/// Links 1, 2, ... of a neighbourhood.
void add(LinkBudget& budget, LinkId first, LinkId last, const std::string& from, Trust trust) {
  for (LinkId link = first; link <= last; ++link) {
    budget.add(link, from, trust);
  }
}

/// Closes links until the budget holds the rest, and returns the closed ones in order.
std::vector<LinkId> give_up(LinkBudget& budget) {
  std::vector<LinkId> gone;
  while (const auto link = budget.excess()) {
    gone.push_back(*link);
    budget.remove(*link);
  }
  return gone;
}

TEST(LinkBudget, KeepsAllThatItHasRoomFor) {
  LinkBudget budget(3);
  add(budget, 1, 3, "a", Trust::None);

  EXPECT_EQ(budget.excess(), std::nullopt);
  EXPECT_EQ(budget.size(), 3U);
}

TEST(LinkBudget, ClosesTheOldestSilentLinks) {
  LinkBudget budget(3);
  add(budget, 1, 2, "a", Trust::Active);
  add(budget, 3, 5, "b", Trust::None);

  EXPECT_EQ(give_up(budget), (std::vector<LinkId>{3, 4}));
}

TEST(LinkBudget, KeepsLinksThatSpeak) {
  LinkBudget budget(2);
  add(budget, 1, 3, "a", Trust::None);
  budget.raise(1, Trust::Active);
  budget.raise(1, Trust::None);  // nobody loses its voice

  EXPECT_EQ(give_up(budget), std::vector<LinkId>{2});
}

TEST(LinkBudget, TakesFromTheNeighbourhoodThatHasMost) {
  LinkBudget budget(80);  // a share is 10
  add(budget, 1, 20, "a few", Trust::Active);
  add(budget, 21, 90, "many", Trust::Active);
  add(budget, 91, 91, "one", Trust::None);

  const std::vector<LinkId> gone = give_up(budget);

  ASSERT_EQ(gone.size(), 11U);
  EXPECT_EQ(gone.front(), 21U);
  EXPECT_EQ(gone.back(), 31U);
}

TEST(LinkBudget, OneNeighbourhoodMayHaveAllOfItAlone) {
  LinkBudget budget(100);
  add(budget, 1, 100, "a", Trust::None);

  EXPECT_EQ(budget.excess(), std::nullopt);
}

TEST(LinkBudget, ManySilentNeighboursDoNotEvictLinksThatHaveSpoken) {
  LinkBudget budget(64);
  add(budget, 1, 5, "agents", Trust::Active);
  for (LinkId link = 6; link <= 500; ++link) {
    budget.add(link, "stranger " + std::to_string(link), Trust::None);
    for (const LinkId gone : give_up(budget)) {
      EXPECT_GT(gone, 5U);
    }
  }
  EXPECT_EQ(budget.size(), 64U);
}

TEST(LinkBudget, ANewLinkGetsTimeToSpeakAmongSpeakingLinks) {
  LinkBudget budget(64);
  for (LinkId link = 1; link <= 64; ++link) {
    budget.add(link, "flood " + std::to_string(link), Trust::Active);
  }
  budget.add(65, "agent", Trust::None);
  for (LinkId link = 66; link <= 96; ++link) {
    budget.add(link, "flood " + std::to_string(link), Trust::Active);
  }
  std::vector<LinkId> gone = give_up(budget);
  EXPECT_EQ(gone.size(), 32U);
  EXPECT_EQ(gone.back(), 32U);
  EXPECT_TRUE(budget.contains(65));

  budget.add(97, "flood 97", Trust::Active);  // half of the budget has come since
  EXPECT_EQ(give_up(budget), std::vector<LinkId>{65});
}

TEST(LinkBudget, ANewLinkThatSpeaksStays) {
  LinkBudget budget(64);
  budget.add(1, "agent", Trust::None);
  budget.raise(1, Trust::Active);
  for (LinkId link = 2; link <= 96; ++link) {
    budget.add(link, "flood " + std::to_string(link), Trust::None);
  }
  const std::vector<LinkId> gone = give_up(budget);
  EXPECT_EQ(gone.front(), 2U);
  EXPECT_TRUE(budget.contains(1));
}

TEST(LinkBudget, LinksThatProvedTheTokenAreClosedLast) {
  LinkBudget budget(64);
  add(budget, 1, 60, "agents", Trust::None);
  for (LinkId link = 1; link <= 60; ++link) {
    budget.raise(link, Trust::Authenticated);
  }
  add(budget, 61, 70, "stranger", Trust::Active);

  EXPECT_EQ(give_up(budget), (std::vector<LinkId>{61, 62, 63, 64, 65, 66}));
}

TEST(LinkBudget, ANodeThatComesBackIsKnownByItsNeighbours) {
  LinkBudget budget(64);
  budget.note_member("nodes");
  budget.add(1, "nodes", Trust::None);
  for (LinkId link = 2; link <= 500; ++link) {
    budget.add(link, std::to_string(link), Trust::Active);
    (void)give_up(budget);
  }
  EXPECT_TRUE(budget.contains(1));

  budget.forget_member("nodes");
  budget.add(501, "another", Trust::Active);
  EXPECT_EQ(give_up(budget), std::vector<LinkId>{1});
}

TEST(LinkBudget, AMemberDoesNotProtectAFloodFromTheSameAddress) {
  LinkBudget budget(64);
  budget.note_member("nodes");
  add(budget, 1, 60, "nodes", Trust::None);
  add(budget, 61, 68, "others", Trust::None);

  EXPECT_EQ(give_up(budget), (std::vector<LinkId>{1, 2, 3, 4}));
}

TEST(LinkBudget, ForgetsClosedLinks) {
  LinkBudget budget(1);
  budget.add(1, "a", Trust::None);
  budget.remove(1);
  budget.remove(1);
  budget.forget_member("a");
  budget.add(2, "a", Trust::None);

  EXPECT_FALSE(budget.contains(1));
  EXPECT_EQ(budget.excess(), std::nullopt);
}

}  // namespace
}  // namespace muster::gang
