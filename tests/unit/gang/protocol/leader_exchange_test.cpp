// The exchange in a job: who is waited for, who is told what before a start and while an attempt runs, and
// who is cut off.
#include "gang/protocol/leader_scenario.hpp"

namespace muster::gang {
namespace {

Result<std::string> in_words(const std::vector<NodePart>& parts) {
  std::string text;
  for (const NodePart& part : parts) {
    text += (text.empty() ? "" : " ") + std::string(part.address) + ":" + std::string(part.bytes);
  }
  return text;
}

Result<std::string> agreed(const std::vector<NodePart>& parts) {
  if (parts.front().bytes != parts.back().bytes) {
    return Error{ErrorKind::BadData, "node 1 has another table than node 0"};
  }
  return "agreed";
}

std::string wait_for_two(const std::vector<NodePart>& parts) {
  const bool is_old = parts.front().bytes == "old" || parts.back().bytes == "old";
  return is_old ? "a node has an old table" : "";
}

GangConfig exchanging(GangConfig config) {
  config.keys = {{"ports", Phase::BeforeStart, 100, 60, in_words},
                 {"table", Phase::BeforeStart, 100, 60, agreed, wait_for_two},
                 {"fence", Phase::WhileRunning, 100, 60, in_words}};
  return config;
}

Join with_ports(Join join) {
  join.contributes = {"ports"};
  return join;
}

Contribute ports(const std::string& bytes) {
  return {split({{"ports", 0, std::nullopt, {}}, bytes}).front()};
}
Contribute table(const std::string& bytes) {
  return {split({{"table", 0, std::nullopt, {}}, bytes}).front()};
}
Contribute fence(const std::string& bytes, int round = 0, int attempt = 0) {
  return {split({{"fence", attempt, round, {}}, bytes}).front()};
}

TEST(LeaderExchange, WaitsForAContributionAndSendsTheResultBeforeTheStart) {
  LeaderScenario scenario(exchanging(job_of(3)));
  EXPECT_EQ(scenario.arrive(1, with_ports(scenario.join_of(1, 2))), "1: admitted as node 2");
  EXPECT_EQ(scenario.receive(1, ports("5001")), "");
  EXPECT_EQ(scenario.arrive(2, with_ports(scenario.join_of(2, 1))), "2: admitted as node 1");

  EXPECT_EQ(scenario.receive(2, ports("7000")),
            "reserve port | "
            "0,2,1: merged ports for 0: 10.0.0.1: 10.0.0.3:7000 10.0.0.2:5001 | "
            "0: start 0 as node 0 of 3, slots 0 of 6 | "
            "2: start 0 as node 1 of 3, slots 2 of 6 | "
            "1: start 0 as node 2 of 3, slots 4 of 6");
}

TEST(LeaderExchange, IsNotMentionedWithoutContributions) {
  LeaderScenario scenario(exchanging(job_of(2)));
  EXPECT_EQ(scenario.arrive(1, 1).find("merged"), std::string::npos);
}

TEST(LeaderExchange, NamesNodesWithoutAContribution) {
  LeaderScenario scenario(exchanging(job_of(2)));
  (void)scenario.arrive(1, with_ports(scenario.join_of(1, 1)));
  (void)scenario.wait(seconds(6));
  EXPECT_TRUE(scenario.has_said("waits for its 'ports' to reach the leader")) << scenario.all_said();
  (void)scenario.wait(seconds(900));
  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(words_of(*scenario.end), "incomplete 75");
  EXPECT_NE(scenario.end->reason.find("its 'ports' to reach the leader"), std::string::npos) << scenario.end->reason;
}

/// Node 1 is an agent on the leader's machine, node 2 is not.
TEST(LeaderExchange, KnowsAnAddressOfEachNodeThatTheOthersReach) {
  LeaderScenario scenario(exchanging(job_of(3)));
  (void)scenario.happen(Joined{1, "127.0.0.1", "127.0.0.1", with_ports(scenario.join_of(1, 1))});
  (void)scenario.receive(1, ports("5001"));
  (void)scenario.happen(Joined{2, "fd00::9", "fd00::1", with_ports(scenario.join_of(2, 2))});

  const std::string words = scenario.receive(2, ports("5002"));

  EXPECT_NE(words.find("0,1,2: merged ports for 0: fd00::1: fd00::1:5001 fd00::9:5002"), std::string::npos) << words;
  EXPECT_EQ(scenario.last_start->placement.master_address, "fd00::1");
}

TEST(LeaderExchange, StaysOnLoopbackWhereAllNodesAreOneMachine) {
  LeaderScenario scenario(exchanging(job_of(2)));
  (void)scenario.happen(Joined{1, "127.0.0.1", "127.0.0.1", with_ports(scenario.join_of(1, 1))});
  const std::string words = scenario.receive(1, ports("5001"));
  EXPECT_NE(words.find("0,1: merged ports for 0: 127.0.0.1: 127.0.0.1:5001"), std::string::npos) << words;
}

TEST(LeaderExchange, FollowsTheNodesOfTheAttempt) {
  LeaderScenario scenario(exchanging(restarting(job_of(2))));
  (void)scenario.arrive(1, with_ports(scenario.join_of(1, 1)));
  (void)scenario.receive(1, ports("5001"));
  (void)scenario.arrive(2, with_ports(scenario.join_of(2, std::nullopt)));  // a spare
  (void)scenario.receive(2, ports("5002"));
  (void)scenario.lose(1);
  (void)scenario.end_all();

  const std::string words = scenario.wait(seconds(20));

  EXPECT_NE(words.find("0,2: merged ports for 1: 10.0.0.1: 10.0.0.3:5002 | 0: start 1"), std::string::npos) << words;
}

TEST(LeaderExchange, EndsTheJobWhereThereIsNoResult) {
  LeaderScenario scenario(exchanging(job_of(2)));
  (void)scenario.arrive(1, with_ports(scenario.join_of(1, 1)));
  (void)scenario.receive(1, ports(std::string(100, 'x')));
  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(words_of(*scenario.end), "failed 71");
  EXPECT_EQ(scenario.end->reason,
            "the nodes cannot exchange values: 'ports' of 2 nodes is 119 bytes long, expected at "
            "most 60");
}

TEST(LeaderExchange, EndsTheJobWithBadDataWhereContributionsConflict) {
  LeaderScenario scenario(exchanging(job_of(2)));
  (void)scenario.receive(kOwnLink, table("one"));
  Join join = scenario.join_of(1, 1);
  join.contributes = {"table"};
  (void)scenario.arrive(1, join);
  (void)scenario.receive(1, table("two"));
  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(words_of(*scenario.end), "failed 65");
  EXPECT_EQ(scenario.end->reason, "node 1 has another table than node 0");
}

TEST(LeaderExchange, WaitsWhileWhatTheNodesHaveDoesNotFitYet) {
  LeaderScenario scenario(exchanging(job_of(2)));
  (void)scenario.receive(kOwnLink, table("two"));
  Join join = scenario.join_of(1, 1);
  join.contributes = {"table"};
  (void)scenario.arrive(1, join);
  EXPECT_EQ(scenario.receive(1, table("old")).find("start 0"), std::string::npos);
  EXPECT_TRUE(scenario.has_said("a node has an old table")) << scenario.all_said();
  EXPECT_EQ(scenario.wait(seconds(60)).find("start 0"), std::string::npos);
  EXPECT_FALSE(scenario.end);
  EXPECT_NE(scenario.receive(1, table("two")).find("start 0"), std::string::npos);
}

TEST(LeaderExchange, GivesUpWhereItNeverFits) {
  LeaderScenario scenario(exchanging(job_of(2)));
  (void)scenario.receive(kOwnLink, table("two"));
  Join join = scenario.join_of(1, 1);
  join.contributes = {"table"};
  (void)scenario.arrive(1, join);
  (void)scenario.receive(1, table("old"));
  (void)scenario.wait(seconds(599));
  EXPECT_FALSE(scenario.end);
  (void)scenario.wait(seconds(2));
  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(words_of(*scenario.end), "incomplete 75");
  EXPECT_EQ(scenario.end->reason, "waited 600 s in vain: a node has an old table");
}

TEST(LeaderExchange, StartsAgainWithWhatWasContributedAnew) {
  LeaderScenario scenario(exchanging(restarting(job_of(2))));
  (void)scenario.arrive(1, with_ports(scenario.join_of(1, 1)));
  (void)scenario.receive(1, ports("5001"));
  (void)scenario.receive(1, Failed{0, {}});
  (void)scenario.receive(1, InputStatus{"its rank table"});
  (void)scenario.end_all();
  (void)scenario.wait(seconds(1));
  (void)scenario.receive(1, ports("6001"));
  const std::string words = scenario.receive(1, InputStatus{});
  EXPECT_NE(words.find("0,1: merged ports for 1: 10.0.0.1: 10.0.0.2:6001 | 0: start 1"), std::string::npos) << words;
}

TEST(LeaderExchange, ContinuesWhileAnAttemptRuns) {
  LeaderScenario scenario = running(exchanging(job_of(2)), 2);
  EXPECT_EQ(scenario.receive(1, fence("b")), "");
  EXPECT_EQ(scenario.receive(kOwnLink, fence("a")), "0,1: merged fence 0 of 0: 10.0.0.1:a 10.0.0.2:b");
  EXPECT_EQ(scenario.receive(kOwnLink, fence("c", 1)), "");
  EXPECT_EQ(scenario.receive(1, fence("d", 1)), "0,1: merged fence 1 of 0: 10.0.0.1:c 10.0.0.2:d");
}

TEST(LeaderExchange, DoesNotSendAMergedValueWithoutALostNode) {
  LeaderScenario scenario = running(exchanging(job_of(3)), 3);
  (void)scenario.receive(1, fence("b"));
  (void)scenario.receive(kOwnLink, fence("a"));
  EXPECT_EQ(scenario.lose(2).find("merged"), std::string::npos);
  EXPECT_EQ(scenario.receive(1, fence("late")), "");
}

TEST(LeaderExchange, DisconnectsNodesThatViolateTheProtocol) {
  LeaderScenario scenario = running(exchanging(job_of(2)), 2);
  const std::string words = scenario.receive(1, fence(std::string(101, 'x')));
  EXPECT_NE(words.find("drop 1"), std::string::npos) << words;
  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(words_of(*scenario.end), "lost 69");
  EXPECT_TRUE(scenario.end->reason.ends_with("was lost: it sent 101 bytes under 'fence', expected at most 100"))
      << scenario.end->reason;
}

TEST(LeaderExchange, EndsAnAttemptThatWaitsForAResultThatCannotBe) {
  LeaderScenario scenario = running(exchanging(job_of(2)), 2);
  (void)scenario.receive(1, fence(std::string(100, 'x')));
  EXPECT_NE(scenario.receive(kOwnLink, fence("a")).find("stop 0 by SIGTERM"), std::string::npos);
  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(scenario.end->reason,
            "the nodes cannot exchange values: 'fence' of 2 nodes is 120 bytes long, expected at "
            "most 60");
}

TEST(LeaderExchange, DoesNotRestartWhereTheNextAttemptWouldContributeTheSame) {
  LeaderScenario scenario = running(exchanging(restarting(job_of(2))), 2);
  (void)scenario.receive(1, fence(std::string(100, 'x')));
  (void)scenario.receive(kOwnLink, fence("a"));
  (void)scenario.end_all();
  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(words_of(*scenario.end), "failed 71");
  EXPECT_EQ(scenario.state(), Leader::State::Finishing);
}

}  // namespace
}  // namespace muster::gang
