// The votes of the nodes become one decision.
#include "exchange/exchanged_rank_table.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using rank_table::RouteVote;

Result<rank_table::RouteDecision> merge_votes(const std::vector<std::string>& votes) {
  std::vector<gang::NodePart> parts;
  for (std::size_t i = 0; i < votes.size(); ++i) {
    parts.push_back({NodeRank{static_cast<int>(i)}, "", votes[i]});
  }
  const auto merged = key_of<RoutePlanValue>().merge(parts);
  return merged ? read_agreed<RoutePlanValue>(*merged) : merged.error();
}

std::string encode(const RouteVote& vote) {
  return contribution_of<RoutePlanValue>(vote).bytes;
}

std::string vote(const std::string& reason, const std::string& digest) {
  RouteVote one;
  one.reason = reason;
  one.digest = digest;
  return encode(one);
}

TEST(RouteKey, DecidesForAll) {
  const auto same = merge_votes({vote("", "a"), vote("", "a")});
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->applies);
  const auto other = merge_votes({vote("", "a"), vote("why", "")});
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->applies);
  EXPECT_EQ(other->reason, "of node 1: why");
  const auto nobody = merge_votes({"", ""});
  ASSERT_TRUE(nobody);
  EXPECT_FALSE(nobody->applies);
  EXPECT_EQ(nobody->reason, "");
}

TEST(RouteKey, KeepsPlaces) {
  RouteVote first;
  first.position = 1;
  RouteVote second;
  second.position = 0;
  second.instance = 1;
  const auto decision = merge_votes({encode(first), encode(second)});
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->positions, (std::vector<int>{1, 0}));
}

TEST(RouteKey, ATornVoteIsNamed) {
  const auto merged = merge_votes({"", "{"});
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().message, "of node 1 is missing or torn: no JSON: incomplete JSON");
  EXPECT_FALSE(read_agreed<RoutePlanValue>("{}"));
}

TEST(RouteKey, AVoteIsReadAsItWasWritten) {
  RouteVote one;
  one.position = 4;
  one.instance = 3;
  one.first = 5;
  one.reason = "why \"not\"";
  one.digest = rank_table::digest_of({0, 2, 1});
  const auto read = Encoding<RouteVote>::read(encode(one));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->reason, one.reason);
  EXPECT_EQ(read->digest, one.digest);
  EXPECT_EQ(read->position, 4);
  EXPECT_EQ(read->instance, 3);
  EXPECT_EQ(read->first, 5);
  one.reason = std::string(3'000, '"');
  EXPECT_LE(encode(one).size(), RoutePlanValue::kMostOfNode);
  EXPECT_FALSE(Encoding<RouteVote>::read("[]"));
}

}  // namespace
}  // namespace muster
