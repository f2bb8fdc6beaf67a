// Ports that are reserved on each node and told to all: who is told what, under which address.
#include "gang/decide/encoding.hpp"
#include "gang/decide/leader_story.hpp"

namespace muster::gang {
namespace {

Join with_ports(Join join, std::vector<std::uint16_t> ports) {
  join.ports = std::move(ports);
  return join;
}

TEST(Ports, AreToldToAllNodesBeforeTheStart) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, with_ports(story.join_of(1, 2), {5'001, 5'002}));

  EXPECT_EQ(story.arrive(2, with_ports(story.join_of(2, 1), {7'000})),
            "2: admitted as node 1 | reserve port | "
            "0,2,1: ports of 0 10.0.0.1 10.0.0.3:7000 10.0.0.2:5001:5002 | "
            "0: start 0 as node 0 of 3, slots 0 of 6 | "
            "2: start 0 as node 1 of 3, slots 2 of 6 | "
            "1: start 0 as node 2 of 3, slots 4 of 6");
}

TEST(Ports, AreNotMentionedWhereNobodyHasReservedAny) {
  LeaderStory story(job_of(2));
  EXPECT_EQ(story.arrive(1, 1).find("ports of"), std::string::npos);
}

TEST(Ports, OfALeaderWithoutOthersNeedNoHost) {
  LeaderStory story(job_of(1));
  Leader leader(job_of(1), story.now());
  Join join = story.join_of(kOwnLink, 0);
  join.incarnation = "own";
  join.ports = {5'000};
  (void)leader.on(Arrived{kOwnLink, "", "", join}, story.now());

  EXPECT_EQ(words_of(leader.on(PortReserved{4'711, ""}, story.now())),
            "0: ports of 0 :5000 | 0: start 0 as node 0 of 1, slots 0 of 2");
}

/// Node 1 is an agent on the leader's machine, node 2 is not.
TEST(Ports, OfAnAgentOnTheLeadersMachineAreFoundByTheOthers) {
  LeaderStory story(job_of(3));
  (void)story.happen(
      Arrived{1, "127.0.0.1", "127.0.0.1", with_ports(story.join_of(1, 1), {5'001})});

  const std::string words =
      story.happen(Arrived{2, "fd00::9", "fd00::1", with_ports(story.join_of(2, 2), {5'002})});

  EXPECT_NE(words.find("0,1,2: ports of 0 fd00::1 fd00::1:5001 fd00::9:5002"), std::string::npos)
      << words;
  EXPECT_EQ(story.last_start->placement.master_address, "fd00::1");
}

TEST(Ports, StayOnLoopbackWhereAllNodesAreOneMachine) {
  LeaderStory story(job_of(2));
  const std::string words =
      story.happen(Arrived{1, "127.0.0.1", "127.0.0.1", with_ports(story.join_of(1, 1), {5'001})});

  EXPECT_NE(words.find("0,1: ports of 0 127.0.0.1 127.0.0.1:5001"), std::string::npos) << words;
}

TEST(Ports, FollowWhoTakesPartInTheAttempt) {
  LeaderStory story(restarting(job_of(2)));
  (void)story.arrive(1, with_ports(story.join_of(1, 1), {5'001}));
  (void)story.arrive(2, with_ports(story.join_of(2, std::nullopt), {5'002}));  // a spare
  (void)story.lose(1);
  (void)story.end_all();

  const std::string words = story.wait(seconds(20));

  EXPECT_NE(words.find("0,2: ports of 1 10.0.0.1 10.0.0.3:5002 | 0: start 1"), std::string::npos)
      << words;
}

TEST(Ports, EndTheJobWhereTheyAreTooMany) {
  constexpr int kNodes = kMostPortsOfJob / kMostPortsOfNode + 2;
  LeaderStory story(job_of(kNodes));
  for (int node = 1; node < kNodes; ++node) {
    const std::vector<std::uint16_t> most(kMostPortsOfNode, 5'000);
    (void)story.arrive(static_cast<LinkId>(node),
                       with_ports(story.join_of(static_cast<LinkId>(node), node), most));
  }

  ASSERT_TRUE(story.end);
  EXPECT_EQ(words_of(*story.end), "failed 71");
  EXPECT_EQ(
      story.end->reason,
      "the nodes cannot be told all ports: 69632 ports are reserved on all nodes, expected at "
      "most 65536");
}

}  // namespace
}  // namespace muster::gang
