// The exchange in a job: who is waited for, who is told what before a start and while an attempt runs, and
// who is cut off.
#include "gang/protocol/leader_story.hpp"

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
  LeaderStory story(exchanging(job_of(3)));
  EXPECT_EQ(story.arrive(1, with_ports(story.join_of(1, 2))), "1: admitted as node 2");
  EXPECT_EQ(story.read_signal(1, ports("5001")), "");
  EXPECT_EQ(story.arrive(2, with_ports(story.join_of(2, 1))), "2: admitted as node 1");

  EXPECT_EQ(story.read_signal(2, ports("7000")),
            "reserve port | "
            "0,2,1: merged ports for 0: 10.0.0.1: 10.0.0.3:7000 10.0.0.2:5001 | "
            "0: start 0 as node 0 of 3, slots 0 of 6 | "
            "2: start 0 as node 1 of 3, slots 2 of 6 | "
            "1: start 0 as node 2 of 3, slots 4 of 6");
}

TEST(LeaderExchange, IsNotMentionedWithoutContributions) {
  LeaderStory story(exchanging(job_of(2)));
  EXPECT_EQ(story.arrive(1, 1).find("merged"), std::string::npos);
}

TEST(LeaderExchange, NamesNodesWithoutAContribution) {
  LeaderStory story(exchanging(job_of(2)));
  (void)story.arrive(1, with_ports(story.join_of(1, 1)));
  (void)story.wait(seconds(6));
  EXPECT_TRUE(story.has_said("waits for its 'ports' to reach the leader")) << story.all_said();
  (void)story.wait(seconds(900));
  ASSERT_TRUE(story.end);
  EXPECT_EQ(words_of(*story.end), "incomplete 75");
  EXPECT_NE(story.end->reason.find("its 'ports' to reach the leader"), std::string::npos) << story.end->reason;
}

/// Node 1 is an agent on the leader's machine, node 2 is not.
TEST(LeaderExchange, KnowsAnAddressOfEachNodeThatTheOthersReach) {
  LeaderStory story(exchanging(job_of(3)));
  (void)story.happen(Joined{1, "127.0.0.1", "127.0.0.1", with_ports(story.join_of(1, 1))});
  (void)story.read_signal(1, ports("5001"));
  (void)story.happen(Joined{2, "fd00::9", "fd00::1", with_ports(story.join_of(2, 2))});

  const std::string words = story.read_signal(2, ports("5002"));

  EXPECT_NE(words.find("0,1,2: merged ports for 0: fd00::1: fd00::1:5001 fd00::9:5002"), std::string::npos) << words;
  EXPECT_EQ(story.last_start->placement.master_address, "fd00::1");
}

TEST(LeaderExchange, StaysOnLoopbackWhereAllNodesAreOneMachine) {
  LeaderStory story(exchanging(job_of(2)));
  (void)story.happen(Joined{1, "127.0.0.1", "127.0.0.1", with_ports(story.join_of(1, 1))});
  const std::string words = story.read_signal(1, ports("5001"));
  EXPECT_NE(words.find("0,1: merged ports for 0: 127.0.0.1: 127.0.0.1:5001"), std::string::npos) << words;
}

TEST(LeaderExchange, FollowsTheNodesOfTheAttempt) {
  LeaderStory story(exchanging(restarting(job_of(2))));
  (void)story.arrive(1, with_ports(story.join_of(1, 1)));
  (void)story.read_signal(1, ports("5001"));
  (void)story.arrive(2, with_ports(story.join_of(2, std::nullopt)));  // a spare
  (void)story.read_signal(2, ports("5002"));
  (void)story.lose(1);
  (void)story.end_all();

  const std::string words = story.wait(seconds(20));

  EXPECT_NE(words.find("0,2: merged ports for 1: 10.0.0.1: 10.0.0.3:5002 | 0: start 1"), std::string::npos) << words;
}

TEST(LeaderExchange, EndsTheJobWhereThereIsNoResult) {
  LeaderStory story(exchanging(job_of(2)));
  (void)story.arrive(1, with_ports(story.join_of(1, 1)));
  (void)story.read_signal(1, ports(std::string(100, 'x')));
  ASSERT_TRUE(story.end);
  EXPECT_EQ(words_of(*story.end), "failed 71");
  EXPECT_EQ(story.end->reason,
            "the nodes cannot exchange values: 'ports' of 2 nodes is 119 bytes long, expected at "
            "most 60");
}

TEST(LeaderExchange, EndsTheJobWithBadDataWhereContributionsConflict) {
  LeaderStory story(exchanging(job_of(2)));
  (void)story.read_signal(kOwnLink, table("one"));
  Join join = story.join_of(1, 1);
  join.contributes = {"table"};
  (void)story.arrive(1, join);
  (void)story.read_signal(1, table("two"));
  ASSERT_TRUE(story.end);
  EXPECT_EQ(words_of(*story.end), "failed 65");
  EXPECT_EQ(story.end->reason, "node 1 has another table than node 0");
}

TEST(LeaderExchange, WaitsWhileWhatTheNodesHaveDoesNotFitYet) {
  LeaderStory story(exchanging(job_of(2)));
  (void)story.read_signal(kOwnLink, table("two"));
  Join join = story.join_of(1, 1);
  join.contributes = {"table"};
  (void)story.arrive(1, join);
  EXPECT_EQ(story.read_signal(1, table("old")).find("start 0"), std::string::npos);
  EXPECT_TRUE(story.has_said("a node has an old table")) << story.all_said();
  EXPECT_EQ(story.wait(seconds(60)).find("start 0"), std::string::npos);
  EXPECT_FALSE(story.end);
  EXPECT_NE(story.read_signal(1, table("two")).find("start 0"), std::string::npos);
}

TEST(LeaderExchange, GivesUpWhereItNeverFits) {
  LeaderStory story(exchanging(job_of(2)));
  (void)story.read_signal(kOwnLink, table("two"));
  Join join = story.join_of(1, 1);
  join.contributes = {"table"};
  (void)story.arrive(1, join);
  (void)story.read_signal(1, table("old"));
  (void)story.wait(seconds(599));
  EXPECT_FALSE(story.end);
  (void)story.wait(seconds(2));
  ASSERT_TRUE(story.end);
  EXPECT_EQ(words_of(*story.end), "incomplete 75");
  EXPECT_EQ(story.end->reason, "waited 600 s in vain: a node has an old table");
}

TEST(LeaderExchange, StartsAgainWithWhatWasContributedAnew) {
  LeaderStory story(exchanging(restarting(job_of(2))));
  (void)story.arrive(1, with_ports(story.join_of(1, 1)));
  (void)story.read_signal(1, ports("5001"));
  (void)story.read_signal(1, Failed{0, {}});
  (void)story.read_signal(1, InputStatus{"its rank table"});
  (void)story.end_all();
  (void)story.wait(seconds(1));
  (void)story.read_signal(1, ports("6001"));
  const std::string words = story.read_signal(1, InputStatus{});
  EXPECT_NE(words.find("0,1: merged ports for 1: 10.0.0.1: 10.0.0.2:6001 | 0: start 1"), std::string::npos) << words;
}

TEST(LeaderExchange, ContinuesWhileAnAttemptRuns) {
  LeaderStory story = running(exchanging(job_of(2)), 2);
  EXPECT_EQ(story.read_signal(1, fence("b")), "");
  EXPECT_EQ(story.read_signal(kOwnLink, fence("a")), "0,1: merged fence 0 of 0: 10.0.0.1:a 10.0.0.2:b");
  EXPECT_EQ(story.read_signal(kOwnLink, fence("c", 1)), "");
  EXPECT_EQ(story.read_signal(1, fence("d", 1)), "0,1: merged fence 1 of 0: 10.0.0.1:c 10.0.0.2:d");
}

TEST(LeaderExchange, DoesNotSendAMergedValueWithoutALostNode) {
  LeaderStory story = running(exchanging(job_of(3)), 3);
  (void)story.read_signal(1, fence("b"));
  (void)story.read_signal(kOwnLink, fence("a"));
  EXPECT_EQ(story.lose(2).find("merged"), std::string::npos);
  EXPECT_EQ(story.read_signal(1, fence("late")), "");
}

TEST(LeaderExchange, DisconnectsNodesThatViolateTheProtocol) {
  LeaderStory story = running(exchanging(job_of(2)), 2);
  const std::string words = story.read_signal(1, fence(std::string(101, 'x')));
  EXPECT_NE(words.find("drop 1"), std::string::npos) << words;
  ASSERT_TRUE(story.end);
  EXPECT_EQ(words_of(*story.end), "lost 69");
  EXPECT_TRUE(story.end->reason.ends_with("was lost: it sent 101 bytes under 'fence', expected at most 100"))
      << story.end->reason;
}

TEST(LeaderExchange, EndsAnAttemptThatWaitsForAResultThatCannotBe) {
  LeaderStory story = running(exchanging(job_of(2)), 2);
  (void)story.read_signal(1, fence(std::string(100, 'x')));
  EXPECT_NE(story.read_signal(kOwnLink, fence("a")).find("stop 0 by SIGTERM"), std::string::npos);
  ASSERT_TRUE(story.end);
  EXPECT_EQ(story.end->reason,
            "the nodes cannot exchange values: 'fence' of 2 nodes is 120 bytes long, expected at "
            "most 60");
}

TEST(LeaderExchange, DoesNotRestartWhereTheNextAttemptWouldContributeTheSame) {
  LeaderStory story = running(exchanging(restarting(job_of(2))), 2);
  (void)story.read_signal(1, fence(std::string(100, 'x')));
  (void)story.read_signal(kOwnLink, fence("a"));
  (void)story.end_all();
  ASSERT_TRUE(story.end);
  EXPECT_EQ(words_of(*story.end), "failed 71");
  EXPECT_EQ(story.state(), Leader::State::Finishing);
}

}  // namespace
}  // namespace muster::gang
