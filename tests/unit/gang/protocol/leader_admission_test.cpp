// Joins of agents: admitted to a seat, kept as a spare, or refused, which never stops the gang.
#include "gang/protocol/leader_story.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

/// The leader's answer to a join message altered by `change`.
template <typename Change>
std::string answer_to(LeaderStory& story, const Change& change, LinkId link = 9) {
  Join join = story.join_of(link, 2);
  change(join);
  return story.arrive(link, join);
}

TEST(IpAllowList, RefusesAnotherJob) {
  LeaderStory story(job_of(3));
  EXPECT_EQ(answer_to(story, [](Join& join) { join.job.job_id = "bert"; }),
            "9: refused: its job is 'bert', the leader's is 'llama' | drop 9");
  EXPECT_TRUE(story.has_said("refused host-j (10.0.0.10): its job is 'bert'"));
}

TEST(IpAllowList, RefusesAnotherProtocol) {
  LeaderStory story(job_of(3));
  EXPECT_EQ(answer_to(story,
                      [](Join& join) {
                        join.protocol = kProtocol + 1;
                        join.version = "9.9";
                        join.job.job_id = "and everything else may differ, too";
                      }),
            "9: refused: muster 9.9 speaks version 5 of the protocol, the leader version 4; "
            "all nodes need the same muster | drop 9");
}

TEST(IpAllowList, RefusesAnotherNumberOfNodes) {
  LeaderStory story(job_of(2, 3));
  EXPECT_EQ(answer_to(story, [](Join& join) { join.job.least_nodes = join.job.most_nodes = 4; }),
            "9: refused: its number of nodes is '4', the leader's is '3' | drop 9");
  EXPECT_EQ(answer_to(story, [](Join& join) { join.job.most_nodes = 4; }),
            "9: refused: its number of nodes is '4', the leader's is '3' | drop 9");
}

TEST(IpAllowList, RefusesAnotherMode) {
  LeaderStory story(job_of(3));
  EXPECT_EQ(answer_to(story, [](Join& join) { join.job.mode = "mpi"; }),
            "9: refused: its mode is 'mpi', the leader's is 'torchrun' | drop 9");
}

TEST(IpAllowList, RefusesARankThatTheJobDoesNotHave) {
  LeaderStory story(job_of(3));
  EXPECT_EQ(answer_to(story, [](Join& join) { join.node.rank = NodeRank{3}; }),
            "9: refused: its node rank is 3, and the job has 3 nodes | drop 9");
}

TEST(IpAllowList, RefusesMoreSlotsThanCanBeCounted) {
  LeaderStory story(job_of(3));
  EXPECT_EQ(answer_to(story, [](Join& join) { join.node.slots = 2'000'000'000; }),
            "9: refused: it has 2000000000 slots, which no node has | drop 9");
}

TEST(IpAllowList, RefusesMoreNodesThanThereIsRoomFor) {
  GangConfig config = job_of(1, 4);
  config.most_links = 2;
  LeaderStory story(config);
  (void)story.arrive(1, 1);
  (void)story.arrive(2, 2);

  EXPECT_EQ(story.arrive(3, 3),
            "3: refused: the leader has file descriptors for 2 other nodes only (ulimit -Hn) | "
            "drop 3");
  (void)story.lose(2);
  EXPECT_EQ(story.arrive(4, 3), "4: admitted as node 3");
}

TEST(IpAllowList, NamesTenRefusalsAndNotAMillion) {
  LeaderStory story(job_of(3));
  for (LinkId link = 10; link < 1'000; ++link) {
    (void)answer_to(
        story, [](Join& join) { join.job.mode = "mpi"; }, link);
  }
  EXPECT_EQ(story.warnings, 10);
}

TEST(IpAllowList, RefusesAMessageThatWasReceivedBefore) {
  LeaderStory story(job_of(3));
  const Join join = story.join_of(1, 1);
  (void)story.arrive(1, join);
  (void)story.lose(1);

  EXPECT_EQ(story.arrive(2, join), "2: refused: its message has been received before | drop 2");
}

TEST(IpAllowList, LetsARefusedAgentTryAgainWithTheSameMessage) {
  LeaderStory story(job_of(3));
  Join join = story.join_of(1, 1);
  join.job.mode = "mpi";
  (void)story.arrive(1, join);
  join.job.mode = "torchrun";

  EXPECT_EQ(story.arrive(2, join), "2: admitted as node 1");
}

TEST(IpAllowList, RefusesNodesAfterTheEnd) {
  LeaderStory story = running(3);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  (void)story.end_all();
  ASSERT_EQ(story.state(), State::Finishing);

  EXPECT_EQ(story.arrive(9, 1), "9: refused for now: the job has ended, and its leader is leaving | drop 9")
      << "another job of that name may follow";
}

TEST(IpAllowList, RefusesTheLeadersOwnRank) {
  LeaderStory story(job_of(3));
  EXPECT_EQ(story.arrive(9, 0), "9: refused: node rank 0 is taken by host-a, the leader | drop 9");
}

TEST(IpAllowList, ContinuesAfterEveryRefusal) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, 1);
  (void)answer_to(story, [](Join& join) { join.job.job_id = "bert"; });
  (void)answer_to(story, [](Join& join) { join.job.mode = "mpi"; });
  (void)answer_to(story, [](Join& join) { join.node.rank = NodeRank{0}; });
  (void)story.happen(LinkLost{9, "closed the connection"});

  EXPECT_NE(story.arrive(2, 2).find("start 0 as node 2 of 3"), std::string::npos);
  EXPECT_EQ(answer_to(story, [](Join& join) { join.job.most_nodes = 77; }).substr(0, 10), "9: refused");
  EXPECT_EQ(story.state(), State::Running);
}

TEST(IpAllowList, IgnoresMessagesOfARefusedAgent) {
  LeaderStory story = running(2);
  (void)story.arrive(9, 0);
  EXPECT_EQ(story.read_signal(9, Failed{0, failure_of(2)}), "");
  EXPECT_EQ(story.read_signal(9, StopFromAgent{SIGTERM}), "");
  EXPECT_EQ(story.read_signal(9, Heartbeat{}), "");
}

// --- A rank that is taken -----------------------------------------------------------------------

TEST(IpAllowList, RefusesASecondAgentOnceTheFirstShowsThatItIsAlive) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, 1);
  EXPECT_EQ(story.arrive(9, 1), "") << "nobody knows yet which of the two is alive";

  EXPECT_EQ(story.read_signal(1, Heartbeat{}),
            "9: refused: node rank 1 is taken by host-b (10.0.0.2) | drop 9 | 1: beat");
}

TEST(IpAllowList, AdmitsTheSecondAgentOnceTheFirstIsLost) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, 1);
  (void)story.arrive(9, 1);

  EXPECT_EQ(story.lose(1), "9: admitted as node 1");
}

TEST(IpAllowList, AdmitsTheSecondAgentOnceTheFirstIsSilent) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, 1);
  story.silence(1);
  (void)story.wait(seconds(4));
  (void)story.arrive(9, 1);

  const std::string text = story.wait(seconds(6));
  EXPECT_NE(text.find("9: admitted as node 1 | drop 1"), std::string::npos) << text;
}

TEST(IpAllowList, LetsOneOfSeveralClaimantsSitDown) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, 1);
  (void)story.arrive(8, 1);
  (void)story.arrive(9, 1);
  EXPECT_EQ(story.lose(1), "8: admitted as node 1");

  EXPECT_EQ(story.read_signal(8, Heartbeat{}),
            "9: refused: node rank 1 is taken by host-i (10.0.0.9) | drop 9 | 8: beat");
}

TEST(IpAllowList, StartsWithTheLiveOneOfTwoNodesForOneRank) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, 1);
  story.silence(1);
  (void)story.wait(seconds(4));
  (void)story.arrive(9, 1);
  EXPECT_EQ(story.arrive(2, 2).find("start 0"), std::string::npos) << "node 1 may be gone";

  const std::string text = story.wait(seconds(6));

  EXPECT_NE(text.find("9: admitted as node 1"), std::string::npos) << text;
  EXPECT_NE(text.find("start 0"), std::string::npos) << text;
  EXPECT_EQ(story.leader().nodes(), (std::vector<LinkId>{kOwnLink, 9, 2}));
}

TEST(IpAllowList, StartsOnceTheHolderOfAClaimedRankSendsAHeartbeat) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, 1);
  story.silence(1);
  (void)story.wait(seconds(4));
  (void)story.arrive(9, 1);
  (void)story.arrive(2, 2);

  EXPECT_NE(story.read_signal(1, Heartbeat{}).find("start 0"), std::string::npos);
  EXPECT_EQ(story.leader().nodes(), (std::vector<LinkId>{kOwnLink, 1, 2}));
}

TEST(IpAllowList, ClaimsWithoutEndDoNotHoldUpTheStart) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, 1);
  (void)story.wait(seconds(4));
  (void)story.arrive(9, 1);

  EXPECT_NE(story.arrive(2, 2).find("start 0"), std::string::npos) << "node 1 was heard just now";
}

TEST(IpAllowList, ForgetsAClaimantThatLeaves) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, 1);
  (void)story.arrive(9, 1);
  EXPECT_EQ(story.lose(9), "");

  EXPECT_EQ(story.read_signal(1, Heartbeat{}), "1: beat");
  EXPECT_NE(story.arrive(2, 2).find("start 0"), std::string::npos);
}

TEST(IpAllowList, SendsTheEndToAClaimant) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, 1);
  (void)story.arrive(9, 1);

  EXPECT_EQ(story.read_signal(0, StopFromAgent{SIGTERM}), "0,1,9: finish: stopped 143");
}

TEST(IpAllowList, LetsANodeReturnBeforeItsLossIsNoticed) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  story.silence(1);
  (void)story.wait(seconds(5));
  EXPECT_EQ(story.arrive(9, 1), "");

  EXPECT_EQ(story.wait(seconds(4)), "9: admitted as a spare of a job that runs | 0: stop 0 by SIGTERM | drop 1");
  (void)story.read_signal(0, AttemptOver{});
  EXPECT_NE(story.wait(seconds(60)).find("9: start 1 as node 1 of 2"), std::string::npos);
}

// --- One agent too many -------------------------------------------------------------------------

TEST(IpAllowList, RefusesOneAgentTooManyWhereTheJobCannotRestart) {
  LeaderStory story = running(2);
  EXPECT_EQ(story.arrive(9), "9: refused: all 2 nodes of the job are here already | drop 9");
  EXPECT_EQ(story.state(), State::Running);
}

TEST(IpAllowList, SaysThatAJobWithAFreeSeatRunsAlready) {
  LeaderStory story = running(job_of(2, 3), 2);
  EXPECT_EQ(story.arrive(9, 2),
            "9: refused: the job runs already, and it cannot restart (--max-restarts is 0) | "
            "drop 9");
}

TEST(IpAllowList, KeepsOneAgentTooManyAsASpare) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  EXPECT_EQ(story.arrive(9), "9: admitted as a spare of a job that runs");
  EXPECT_TRUE(story.has_said("host-j (10.0.0.10) is a spare: it waits until a node is needed"));
  EXPECT_EQ(story.state(), State::Running);
}

TEST(IpAllowList, InformsASpareThatTheJobRuns) {
  LeaderStory story(restarting(job_of(2)));
  Join unready = story.join_of(1, 1);
  unready.waits_for = "its rank table";
  (void)story.arrive(1, unready);
  EXPECT_EQ(story.arrive(9), "9: admitted as a spare");

  const std::string words = story.read_signal(1, InputStatus{});

  EXPECT_NE(words.find("9: admitted as a spare of a job that runs"), std::string::npos) << words;
  EXPECT_EQ(story.state(), State::Running);
}

TEST(IpAllowList, KeepsNotManyMoreSparesThanTheJobHasNodes) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  std::string last;
  for (LinkId link = 10; link < 40 && last.find("refused") == std::string::npos; ++link) {
    last = story.arrive(link);
  }
  EXPECT_NE(last.find("refused for now: there are more spares than the job has nodes"), std::string::npos) << last;
}

TEST(IpAllowList, KeepsNoSpareForAJobThatEnds) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.read_signal(0, StopFromAgent{SIGTERM});
  EXPECT_EQ(story.arrive(9).substr(0, 10), "9: refused");
}

TEST(IpAllowList, LetsASpareLeave) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.arrive(9);
  EXPECT_EQ(story.read_signal(9, StopFromAgent{SIGTERM}), "9: finish: stopped 143 | drop 9");
  EXPECT_EQ(story.lose(9), "");
  EXPECT_EQ(story.state(), State::Running);
}

TEST(IpAllowList, SendsTheEndToASpare) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.arrive(9);
  (void)story.read_signal(0, last_success_of(1));
  EXPECT_EQ(story.read_signal(1, last_success_of(3)), "0,1: stop 0 by SIGTERM, the end is succeeded 0");

  EXPECT_EQ(story.end_all(), "0,1,9: finish: succeeded 0");
}

TEST(IpAllowList, SeatsASpareWhereANodeLeavesWhileThePortIsReserved) {
  LeaderStory story(restarting(job_of(2)), std::nullopt);
  story.answers_port = false;
  (void)story.arrive(1);
  EXPECT_EQ(story.arrive(9), "9: admitted as a spare");
  EXPECT_EQ(story.lose(1), "9: admitted as node 1");

  EXPECT_NE(story.happen(PortReserved{{4'711}, ""}).find("9: start 0 as node 1"), std::string::npos);
}

TEST(IpAllowList, NamesNodesWithAnotherTokenAtItsTimeout) {
  LeaderStory story(job_of(2));
  (void)story.happen(AuthFailed{"10.0.0.9", "has another token"});

  (void)story.wait(seconds(900));

  ASSERT_TRUE(story.end);
  EXPECT_EQ(story.end->reason,
            "1 of 2 nodes came within 900 s: node 1 never joined; 10.0.0.9 was refused: it has "
            "another token");
}

TEST(IpAllowList, ForgetsAWrongTokenOnceThatNodeHasJoined) {
  LeaderStory story(job_of(3));
  (void)story.happen(AuthFailed{"10.0.0.2", "has another token"});
  (void)story.arrive(1, 1);

  (void)story.wait(seconds(900));

  ASSERT_TRUE(story.end);
  EXPECT_EQ(story.end->reason, "2 of 3 nodes came within 900 s: node 2 never connected");
}

TEST(IpAllowList, NamesRefusedNodesAtItsTimeout) {
  LeaderStory story(job_of(3));
  Join join = story.join_of(1, 1);
  join.job.job_id = "bert";
  (void)story.arrive(1, join);
  (void)story.wait(seconds(900));

  ASSERT_TRUE(story.end);
  EXPECT_EQ(story.end->reason,
            "1 of 3 nodes came within 900 s: node 2 never connected; node 1 (host-b) was refused: "
            "its job is 'bert', the leader's is 'llama'");
}

}  // namespace
}  // namespace muster::gang
