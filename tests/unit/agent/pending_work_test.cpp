// The list that keeps the agent's loop running.
#include "agent/shutdown.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(PendingWork, AreNoneAtFirst) {
  EXPECT_TRUE(PendingWork().is_empty());
  EXPECT_EQ(PendingWork().describe(), "");
}

TEST(PendingWork, StandInTheOrderInWhichTheyCame) {
  PendingWork reasons;
  reasons.add("attempt 0");
  reasons.add("goodbye of node 3");

  EXPECT_FALSE(reasons.is_empty());
  EXPECT_EQ(reasons.describe(), "attempt 0, goodbye of node 3");
  reasons.remove("attempt 0");
  EXPECT_EQ(reasons.describe(), "goodbye of node 3");
  reasons.remove("goodbye of node 3");
  EXPECT_TRUE(reasons.is_empty());
}

TEST(PendingWork, StandThereOnce) {
  PendingWork reasons;
  reasons.add("attempt 0");
  reasons.add("attempt 0");
  reasons.remove("attempt 0");

  EXPECT_TRUE(reasons.is_empty());
}

TEST(PendingWork, MayBeRemovedWhereTheyAreNot) {
  PendingWork reasons;
  reasons.add("attempt 0");
  reasons.remove("");

  EXPECT_EQ(reasons.describe(), "attempt 0");
}

TEST(PendingWork, AreNamedInDetailWhereThereIsAny) {
  std::vector<std::string> nodes{"goodbye of node 1", "goodbye of node 4"};
  PendingWork reasons;
  reasons.add("goodbye of the gang", [&] { return nodes; });
  reasons.add("attempt 0");

  EXPECT_EQ(reasons.describe(), "goodbye of node 1, goodbye of node 4, attempt 0");
  nodes.clear();
  EXPECT_EQ(reasons.describe(), "goodbye of the gang, attempt 0");
  reasons.remove("goodbye of the gang");
  EXPECT_EQ(reasons.describe(), "attempt 0");
}

TEST(PendingWork, AreForgottenByAForcedExit) {
  PendingWork reasons;
  reasons.add("attempt 0");
  reasons.exit_early();
  reasons.add("goodbye of the gang");

  EXPECT_TRUE(reasons.is_empty());
}

}  // namespace
}  // namespace muster
