// The time that a platform leaves, less our margin.
#include "supervise/supervisor.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TimeToSave, LeavesOurKillBeforeThePlatforms) {
  EXPECT_EQ(time_to_save(seconds(30)), seconds(26));
  EXPECT_EQ(time_to_save(seconds(5)), milliseconds(3'500)) << "HAI";
  EXPECT_EQ(time_to_save(seconds(120)), seconds(116)) << "the margin has a limit";
}

TEST(TimeToSave, IsNothingWhereThePlatformLeavesNothing) {
  EXPECT_EQ(time_to_save(seconds(0)), seconds(0));
  EXPECT_EQ(time_to_save(seconds(1)), seconds(0));
  EXPECT_EQ(time_to_save(seconds(-5)), seconds(0));
}

}  // namespace
}  // namespace muster
