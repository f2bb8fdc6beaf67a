// Ranks of MPI bring together what they have to say, node by node.
#include "exchange/exchanged_values.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

Result<std::string> merge(const std::vector<std::string>& bytes) {
  std::vector<gang::NodePart> parts;
  parts.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    parts.push_back({NodeRank{static_cast<int>(i)}, "", bytes[i]});
  }
  return pmix_fence_key().merge(parts);
}

TEST(ExchangedFences, PutsPartsOneBehindTheOther) {
  const auto merged = merge({write_fence_part("one"), write_fence_part(""), write_fence_part("+")});

  ASSERT_TRUE(merged);
  EXPECT_EQ(read_fence_end(*merged)->said, "one+");
  EXPECT_FALSE(read_fence_end(*merged)->absent_rank);
}

TEST(ExchangedFences, NameTheRankThatWillNeverArrive) {
  const auto merged = merge({write_fence_part("one"), write_absent_rank(7)});

  ASSERT_TRUE(merged);
  EXPECT_EQ(read_fence_end(*merged)->absent_rank, 7);
}

TEST(ExchangedFences, RefuseWhatNoNodeWrites) {
  for (const char* const torn : {"", "one", "-", "-x", "- 1", "-99999999999"}) {
    const auto merged = merge({write_fence_part("one"), torn});
    ASSERT_FALSE(merged) << torn;
    EXPECT_EQ(merged.error().message, "of node 1 are missing or torn");
  }
}

}  // namespace
}  // namespace muster
