// Counts cores of this machine, so the tests ask only for what is true on every machine.
#include "environment/snapshot.hpp"

#include <gtest/gtest.h>

#include <sched.h>
#include <unistd.h>

namespace muster {
namespace {

TEST(CountAllowedCores, IsBetweenOneAndWhatTheMachineHas) {
  const AllowedCores cores = count_allowed_cores();

  EXPECT_GE(cores.count, 1);
  EXPECT_LE(cores.count, ::sysconf(_SC_NPROCESSORS_CONF));
  EXPECT_TRUE(cores.source == "affinity" || cores.source.starts_with("/")) << cores.source;
}

TEST(CountAllowedCores, FollowsTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &before)) {
      CPU_SET(core, &one);
    }
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);

  const AllowedCores cores = count_allowed_cores();

  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(cores.count, 1);
  EXPECT_EQ(cores.source, "affinity");
}

}  // namespace
}  // namespace muster
