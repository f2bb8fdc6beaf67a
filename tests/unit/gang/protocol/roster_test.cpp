// Seats and who sits in them, and how the empty ones are described.
#include "gang/protocol/roster.hpp"

#include <gtest/gtest.h>

namespace muster::gang {
namespace {

Member member(const std::string& host, std::optional<int> rank = std::nullopt) {
  Member made;
  made.join.node.host = host;
  made.peer = "10.0.0.1";
  if (rank) {
    made.join.node.rank = NodeRank{*rank};
  }
  return made;
}

std::string missing(const Roster& roster) {
  return roster.describe_missing({}, {}, roster.seats());
}

TEST(Roster, KeepsTheOrderOfSeatsAndNotOfArrivals) {
  Roster roster(3);
  roster.add(5, member("c"));
  roster.add(6, member("a"));
  roster.take_seat(5, 2);
  roster.take_seat(6, 0);

  EXPECT_EQ(roster.in_order(), (std::vector<LinkId>{6, 5}));
  EXPECT_EQ(roster.seated(), 2);
  EXPECT_EQ(roster.free_seat(), 1);
  EXPECT_EQ(roster.holder(2), LinkId{5});
  EXPECT_EQ(roster.holder(1), std::nullopt);
}

TEST(Roster, HasNoFreeSeatWhenItIsFull) {
  Roster roster(1);
  roster.add(1, member("a"));
  roster.take_seat(1, 0);
  EXPECT_EQ(roster.free_seat(), std::nullopt);
  EXPECT_EQ(missing(roster), "");
}

TEST(Roster, RemembersWhyASeatIsEmpty) {
  Roster roster(2);
  roster.add(1, member("host-b"));
  roster.take_seat(1, 1);
  roster.leave_seat(1, "left: closed the connection");
  roster.remove(1);
  EXPECT_EQ(missing(roster), "node 0 never connected; node 1 (host-b) left: closed the connection");

  roster.add(2, member("host-c"));
  roster.take_seat(2, 1);
  EXPECT_EQ(missing(roster), "node 0 never connected");
}

TEST(Roster, RemembersRefusedNodes) {
  Roster roster(4);
  roster.add(1, member("host-b", 1));
  roster.add(2, member("host-c"));
  roster.add(3, member("host-d", 0));
  roster.add(4, member("host-e", 7));
  roster.take_seat(2, 0);
  roster.note_refusal(1, "its mode is 'ps'");
  roster.note_refusal(3, "node rank 0 is taken");
  roster.note_refusal(4, "its node rank is 7");
  EXPECT_EQ(missing(roster),
            "node 2 never joined; node 3 never joined; "
            "node 1 (host-b) was refused: its mode is 'ps'; "
            "host-e (10.0.0.1) was refused: its node rank is 7");

  roster.add(5, member("host-b", 1));
  roster.take_seat(5, 1);
  roster.take_seat(4, 2);
  EXPECT_EQ(missing(roster), "node 3 never connected") << "nobody else was refused";
}

TEST(Roster, StandsUpOnce) {
  Roster roster(2);
  roster.add(1, member("a"));
  roster.leave_seat(1, "it never sat");
  roster.take_seat(1, 0);
  roster.leave_seat(1, "left: it went");
  roster.leave_seat(1, "left: it went again");
  EXPECT_EQ(roster.seated(), 0);
  EXPECT_EQ(missing(roster), "node 1 never connected; node 0 (a) left: it went");
}

TEST(Roster, CountsSparesWithoutClaimingOrLeavingNodes) {
  Roster roster(2);
  roster.add(1, member("a"));
  roster.take_seat(1, 0);
  roster.add(2, member("b"));
  roster.add(3, member("c", 0));
  roster.claim(3, 0);
  roster.add(4, member("d")).leaving_after = 15;

  EXPECT_EQ(roster.spares(), (std::vector<LinkId>{2}));
  EXPECT_EQ(roster.claimants(0), (std::vector<LinkId>{3}));
  roster.withdraw_claim(3);
  EXPECT_EQ(roster.claimants(0), (std::vector<LinkId>{}));
  EXPECT_EQ(roster.spares(), (std::vector<LinkId>{2, 3}));
}

TEST(Roster, ForgetsTheClaimOfARemovedNode) {
  Roster roster(1);
  roster.add(1, member("a"));
  roster.take_seat(1, 0);
  roster.add(2, member("b", 0));
  roster.claim(2, 0);
  roster.remove(2);
  EXPECT_EQ(roster.claimants(0), (std::vector<LinkId>{}));
}

TEST(Roster, KnowsWhetherAnybodyElseIsThere) {
  Roster roster(2);
  EXPECT_FALSE(roster.has_others());
  roster.add(kOwnLink, member("a"));
  EXPECT_FALSE(roster.has_others());
  roster.add(1, member("b"));
  EXPECT_TRUE(roster.has_others());
}

TEST(Roster, NamesManyThatNeverCameAsRanges) {
  Roster roster(4'000);
  roster.add(1, member("a"));
  roster.take_seat(1, 7);
  EXPECT_EQ(missing(roster), "nodes 0-6, 8-3999 never connected");
}

TEST(Roster, NamesHostsOfAFew) {
  const Roster roster(2);
  EXPECT_EQ(roster.describe_missing({"x-0", "x-1"}, {"x-1"}, roster.seats()),
            "node 0 (x-0) never connected; "
            "node 1 (x-1, a name that does not resolve) never connected");
}

TEST(Roster, NamesAMemberWithItsAddress) {
  EXPECT_EQ(describe(member("host-b")), "host-b (10.0.0.1)");
  Member own = member("host-a");
  own.peer.clear();
  EXPECT_EQ(describe(own), "host-a");
}

}  // namespace
}  // namespace muster::gang
