// Tasks of one host have its name in common.
#include "gang/protocol/roster.hpp"

#include <gtest/gtest.h>

namespace muster::gang {
namespace {

TEST(HostPlaces, AreCountedInTheOrderOfRanks) {
  const auto places = find_host_places({"b", "a", "b", "a", "c"});
  EXPECT_EQ(places, (std::vector<HostPlace>{{0, 3, 2}, {1, 3, 2}, {0, 3, 2}, {1, 3, 2}, {2, 3, 1}}));
  EXPECT_TRUE(find_host_places({}).empty());
}

}  // namespace
}  // namespace muster::gang
