#include "environment/cgroups.hpp"
#include "fake_host.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace muster {
namespace {

constexpr std::uint64_t kLimit = 1'000;

/// The group of a container in version 2, as its files say.
class UsedMemory : public testing::Test {
 protected:
  void use(const char* current, const char* stat) {
    host_.write("/memory.current", current);
    host_.write("/memory.stat", stat);
  }
  MemoryGroup group() const {
    return {.oom_counter = host_.root() + "/memory.events", .limited = host_.root(), .limit = kLimit, .version = 2};
  }
  std::optional<std::uint64_t> used() const { return read_used_memory(group()); }

  FakeHost host_;
};

TEST_F(UsedMemory, LeavesOutTheCachesOfFiles) {
  use("990", "anon 300\nfile 600\ninactive_file 500\nactive_file 90\n");
  EXPECT_EQ(used(), 400U) << "a data set that was read once is no want of memory";
}

TEST_F(UsedMemory, CountsSharedMemoryThatIsAFileToTheKernel) {
  use("990", "anon 10\nfile 970\nshmem 960\ninactive_file 10\nactive_file 0\n");
  EXPECT_EQ(used(), 980U);
}

TEST_F(UsedMemory, IsNotKnownWithoutALimitOrAFile) {
  EXPECT_EQ(used(), std::nullopt);
  use("990", "");
  MemoryGroup unlimited = group();
  unlimited.limited.clear();
  EXPECT_EQ(read_used_memory(unlimited), std::nullopt);
}

TEST_F(UsedMemory, CountsCachesThatCannotBeReadAsUsed) {
  use("990", "");
  EXPECT_EQ(used(), 990U);
}

TEST_F(UsedMemory, NamesTheMostThatWasUsed) {
  EXPECT_EQ(read_memory_peak(group()), std::nullopt) << "a kernel before 5.19";
  host_.write("/memory.peak", "995");
  EXPECT_EQ(read_memory_peak(group()), 995U);
}

TEST(MemoryGroups, OfThisProcessHaveACounterThatCanBeReadWhereThereIsOne) {
  const MemoryGroup found = find_memory_group();
  EXPECT_EQ(found.oom_counter.empty(), found.version == 0);
  EXPECT_EQ(read_oom_counter(found.oom_counter).has_value(), found.version != 0);
  EXPECT_EQ(found.limited.empty(), found.limit == 0);
}

}  // namespace
}  // namespace muster
