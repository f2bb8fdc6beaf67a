// Ranks of MPI bring together what they have to say, node by node.
#include "services/mpi/running_values.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string said(const std::string& bytes) {
  return contribution_of<FenceValue>({bytes}).bytes;
}

Result<std::string> merge_fences(const std::vector<std::string>& bytes) {
  std::vector<gang::NodePart> parts;
  parts.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    parts.push_back({NodeRank{static_cast<int>(i)}, "", bytes[i]});
  }
  return key_of<FenceValue>().merge(parts);
}

TEST(ExchangedFences, PutsPartsOneBehindTheOther) {
  const auto merged = merge_fences({said("one"), said(""), said("+")});

  ASSERT_TRUE(merged);
  EXPECT_EQ(read_agreed<FenceValue>(*merged)->said, "one+");
  EXPECT_FALSE(read_agreed<FenceValue>(*merged)->absent_rank);
}

TEST(ExchangedFences, NameTheRankThatWillNeverArrive) {
  const auto merged = merge_fences({said("one"), contribution_of<FenceValue>({{}, 7}).bytes});

  ASSERT_TRUE(merged);
  EXPECT_EQ(read_agreed<FenceValue>(*merged)->absent_rank, 7);
}

TEST(ExchangedFences, RefuseWhatNoNodeWrites) {
  for (const char* const torn : {"", "one", "-", "-x", "- 1", "-99999999999"}) {
    const auto merged = merge_fences({said("one"), torn});
    ASSERT_FALSE(merged) << torn;
    EXPECT_EQ(merged.error().message, "of node 1 is missing or torn: expected '+' and data, or '-' and a rank");
  }
}

}  // namespace
}  // namespace muster
