// The list that keeps the agent's loop running.
#include "run/reasons_to_stay.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ReasonsToStay, AreNoneAtFirst) {
  EXPECT_TRUE(ReasonsToStay().is_empty());
  EXPECT_EQ(ReasonsToStay().describe(), "");
}

TEST(ReasonsToStay, StandInTheOrderInWhichTheyCame) {
  ReasonsToStay reasons;
  reasons.add("attempt 0");
  reasons.add("goodbye of node 3");

  EXPECT_FALSE(reasons.is_empty());
  EXPECT_EQ(reasons.describe(), "attempt 0, goodbye of node 3");
  reasons.remove("attempt 0");
  EXPECT_EQ(reasons.describe(), "goodbye of node 3");
  reasons.remove("goodbye of node 3");
  EXPECT_TRUE(reasons.is_empty());
}

TEST(ReasonsToStay, StandThereOnce) {
  ReasonsToStay reasons;
  reasons.add("attempt 0");
  reasons.add("attempt 0");
  reasons.remove("attempt 0");

  EXPECT_TRUE(reasons.is_empty());
}

TEST(ReasonsToStay, MayBeRemovedWhereTheyAreNot) {
  ReasonsToStay reasons;
  reasons.add("attempt 0");
  reasons.remove("");

  EXPECT_EQ(reasons.describe(), "attempt 0");
}

TEST(ReasonsToStay, AreNamedInDetailWhereThereIsAny) {
  std::vector<std::string> nodes{"goodbye of node 1", "goodbye of node 4"};
  ReasonsToStay reasons;
  reasons.add("goodbye of the gang", [&] { return nodes; });
  reasons.add("attempt 0");

  EXPECT_EQ(reasons.describe(), "goodbye of node 1, goodbye of node 4, attempt 0");
  nodes.clear();
  EXPECT_EQ(reasons.describe(), "goodbye of the gang, attempt 0");
  reasons.remove("goodbye of the gang");
  EXPECT_EQ(reasons.describe(), "attempt 0");
}

TEST(ReasonsToStay, AreForgottenByWhoeverLeavesNow) {
  ReasonsToStay reasons;
  reasons.add("attempt 0");
  reasons.leave_now();
  reasons.add("goodbye of the gang");

  EXPECT_TRUE(reasons.is_empty());
}

}  // namespace
}  // namespace muster
