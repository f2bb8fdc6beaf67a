// Joins of agents: admitted to a seat, kept as a spare, or refused, which never stops the gang.
#include "gang/protocol/leader_scenario.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

/// The leader's answer to a join message altered by `change`.
template <typename Change>
std::string answer_to(LeaderScenario& scenario, const Change& change, LinkId link = 9) {
  Join join = scenario.join_of(link, 2);
  change(join);
  return scenario.arrive(link, join);
}

TEST(IpAllowList, RefusesAnotherJob) {
  LeaderScenario scenario(job_of(3));
  EXPECT_EQ(answer_to(scenario, [](Join& join) { join.job.job_id = "bert"; }),
            "9: refused: its job is 'bert', the leader's is 'llama' | drop 9");
  EXPECT_TRUE(scenario.has_said("refused host-j (10.0.0.10): its job is 'bert'"));
}

TEST(IpAllowList, RefusesAnotherProtocol) {
  LeaderScenario scenario(job_of(3));
  EXPECT_EQ(answer_to(scenario,
                      [](Join& join) {
                        join.protocol = kProtocol + 1;
                        join.version = "9.9";
                        join.job.job_id = "and everything else may differ, too";
                      }),
            "9: refused: muster 9.9 speaks version 5 of the protocol, the leader version 4; "
            "all nodes need the same muster | drop 9");
}

TEST(IpAllowList, RefusesAnotherNumberOfNodes) {
  LeaderScenario scenario(job_of(2, 3));
  EXPECT_EQ(answer_to(scenario, [](Join& join) { join.job.least_nodes = join.job.most_nodes = 4; }),
            "9: refused: its number of nodes is '4', the leader's is '3' | drop 9");
  EXPECT_EQ(answer_to(scenario, [](Join& join) { join.job.most_nodes = 4; }),
            "9: refused: its number of nodes is '4', the leader's is '3' | drop 9");
}

TEST(IpAllowList, RefusesAnotherMode) {
  LeaderScenario scenario(job_of(3));
  EXPECT_EQ(answer_to(scenario, [](Join& join) { join.job.mode = "mpi"; }),
            "9: refused: its mode is 'mpi', the leader's is 'torchrun' | drop 9");
}

TEST(IpAllowList, RefusesARankThatTheJobDoesNotHave) {
  LeaderScenario scenario(job_of(3));
  EXPECT_EQ(answer_to(scenario, [](Join& join) { join.node.rank = NodeRank{3}; }),
            "9: refused: its node rank is 3, and the job has 3 nodes | drop 9");
}

TEST(IpAllowList, RefusesMoreSlotsThanCanBeCounted) {
  LeaderScenario scenario(job_of(3));
  EXPECT_EQ(answer_to(scenario, [](Join& join) { join.node.slots = 2'000'000'000; }),
            "9: refused: it has 2000000000 slots, which no node has | drop 9");
}

TEST(IpAllowList, RefusesMoreNodesThanThereIsRoomFor) {
  GangConfig config = job_of(1, 4);
  config.most_links = 2;
  LeaderScenario scenario(config);
  (void)scenario.arrive(1, 1);
  (void)scenario.arrive(2, 2);

  EXPECT_EQ(scenario.arrive(3, 3),
            "3: refused: the leader has file descriptors for 2 other nodes only (ulimit -Hn) | "
            "drop 3");
  (void)scenario.lose(2);
  EXPECT_EQ(scenario.arrive(4, 3), "4: admitted as node 3");
}

TEST(IpAllowList, NamesTenRefusalsAndNotAMillion) {
  LeaderScenario scenario(job_of(3));
  for (LinkId link = 10; link < 1'000; ++link) {
    (void)answer_to(
        scenario, [](Join& join) { join.job.mode = "mpi"; }, link);
  }
  EXPECT_EQ(scenario.warnings, 10);
}

TEST(IpAllowList, RefusesAMessageThatWasReceivedBefore) {
  LeaderScenario scenario(job_of(3));
  const Join join = scenario.join_of(1, 1);
  (void)scenario.arrive(1, join);
  (void)scenario.lose(1);

  EXPECT_EQ(scenario.arrive(2, join), "2: refused: its message has been received before | drop 2");
}

TEST(IpAllowList, LetsARefusedAgentTryAgainWithTheSameMessage) {
  LeaderScenario scenario(job_of(3));
  Join join = scenario.join_of(1, 1);
  join.job.mode = "mpi";
  (void)scenario.arrive(1, join);
  join.job.mode = "torchrun";

  EXPECT_EQ(scenario.arrive(2, join), "2: admitted as node 1");
}

TEST(IpAllowList, RefusesNodesAfterTheEnd) {
  LeaderScenario scenario = running(3);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  (void)scenario.end_all();
  ASSERT_EQ(scenario.state(), State::Finishing);

  EXPECT_EQ(scenario.arrive(9, 1), "9: refused for now: the job has ended, and its leader is leaving | drop 9")
      << "another job of that name may follow";
}

TEST(IpAllowList, RefusesTheLeadersOwnRank) {
  LeaderScenario scenario(job_of(3));
  EXPECT_EQ(scenario.arrive(9, 0), "9: refused: node rank 0 is taken by host-a, the leader | drop 9");
}

TEST(IpAllowList, ContinuesAfterEveryRefusal) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.arrive(1, 1);
  (void)answer_to(scenario, [](Join& join) { join.job.job_id = "bert"; });
  (void)answer_to(scenario, [](Join& join) { join.job.mode = "mpi"; });
  (void)answer_to(scenario, [](Join& join) { join.node.rank = NodeRank{0}; });
  (void)scenario.happen(LinkLost{9, "closed the connection"});

  EXPECT_NE(scenario.arrive(2, 2).find("start 0 as node 2 of 3"), std::string::npos);
  EXPECT_EQ(answer_to(scenario, [](Join& join) { join.job.most_nodes = 77; }).substr(0, 10), "9: refused");
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(IpAllowList, IgnoresMessagesOfARefusedAgent) {
  LeaderScenario scenario = running(2);
  (void)scenario.arrive(9, 0);
  EXPECT_EQ(scenario.receive(9, Failed{0, failure_of(2)}), "");
  EXPECT_EQ(scenario.receive(9, StopFromAgent{SIGTERM}), "");
  EXPECT_EQ(scenario.receive(9, Heartbeat{}), "");
}

// --- A rank that is taken -----------------------------------------------------------------------

TEST(IpAllowList, RefusesASecondAgentOnceTheFirstShowsThatItIsAlive) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.arrive(1, 1);
  EXPECT_EQ(scenario.arrive(9, 1), "") << "nobody knows yet which of the two is alive";

  EXPECT_EQ(scenario.receive(1, Heartbeat{}),
            "9: refused: node rank 1 is taken by host-b (10.0.0.2) | drop 9 | 1: beat");
}

TEST(IpAllowList, AdmitsTheSecondAgentOnceTheFirstIsLost) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.arrive(1, 1);
  (void)scenario.arrive(9, 1);

  EXPECT_EQ(scenario.lose(1), "9: admitted as node 1");
}

TEST(IpAllowList, AdmitsTheSecondAgentOnceTheFirstIsSilent) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.arrive(1, 1);
  scenario.silence(1);
  (void)scenario.wait(seconds(4));
  (void)scenario.arrive(9, 1);

  const std::string text = scenario.wait(seconds(6));
  EXPECT_NE(text.find("9: admitted as node 1 | drop 1"), std::string::npos) << text;
}

TEST(IpAllowList, LetsOneOfSeveralClaimantsSitDown) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.arrive(1, 1);
  (void)scenario.arrive(8, 1);
  (void)scenario.arrive(9, 1);
  EXPECT_EQ(scenario.lose(1), "8: admitted as node 1");

  EXPECT_EQ(scenario.receive(8, Heartbeat{}),
            "9: refused: node rank 1 is taken by host-i (10.0.0.9) | drop 9 | 8: beat");
}

TEST(IpAllowList, StartsWithTheLiveOneOfTwoNodesForOneRank) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.arrive(1, 1);
  scenario.silence(1);
  (void)scenario.wait(seconds(4));
  (void)scenario.arrive(9, 1);
  EXPECT_EQ(scenario.arrive(2, 2).find("start 0"), std::string::npos) << "node 1 may be gone";

  const std::string text = scenario.wait(seconds(6));

  EXPECT_NE(text.find("9: admitted as node 1"), std::string::npos) << text;
  EXPECT_NE(text.find("start 0"), std::string::npos) << text;
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{kOwnLink, 9, 2}));
}

TEST(IpAllowList, StartsOnceTheHolderOfAClaimedRankSendsAHeartbeat) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.arrive(1, 1);
  scenario.silence(1);
  (void)scenario.wait(seconds(4));
  (void)scenario.arrive(9, 1);
  (void)scenario.arrive(2, 2);

  EXPECT_NE(scenario.receive(1, Heartbeat{}).find("start 0"), std::string::npos);
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{kOwnLink, 1, 2}));
}

TEST(IpAllowList, ClaimsWithoutEndDoNotHoldUpTheStart) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.arrive(1, 1);
  (void)scenario.wait(seconds(4));
  (void)scenario.arrive(9, 1);

  EXPECT_NE(scenario.arrive(2, 2).find("start 0"), std::string::npos) << "node 1 was heard just now";
}

TEST(IpAllowList, ForgetsAClaimantThatLeaves) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.arrive(1, 1);
  (void)scenario.arrive(9, 1);
  EXPECT_EQ(scenario.lose(9), "");

  EXPECT_EQ(scenario.receive(1, Heartbeat{}), "1: beat");
  EXPECT_NE(scenario.arrive(2, 2).find("start 0"), std::string::npos);
}

TEST(IpAllowList, SendsTheEndToAClaimant) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.arrive(1, 1);
  (void)scenario.arrive(9, 1);

  EXPECT_EQ(scenario.receive(0, StopFromAgent{SIGTERM}), "0,1,9: finish: stopped 143");
}

TEST(IpAllowList, LetsANodeReturnBeforeItsLossIsNoticed) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  scenario.silence(1);
  (void)scenario.wait(seconds(5));
  EXPECT_EQ(scenario.arrive(9, 1), "");

  EXPECT_EQ(scenario.wait(seconds(4)), "9: admitted as a spare of a job that runs | 0: stop 0 by SIGTERM | drop 1");
  (void)scenario.receive(0, AttemptOver{});
  EXPECT_NE(scenario.wait(seconds(60)).find("9: start 1 as node 1 of 2"), std::string::npos);
}

// --- One agent too many -------------------------------------------------------------------------

TEST(IpAllowList, RefusesOneAgentTooManyWhereTheJobCannotRestart) {
  LeaderScenario scenario = running(2);
  EXPECT_EQ(scenario.arrive(9), "9: refused: all 2 nodes of the job are here already | drop 9");
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(IpAllowList, SaysThatAJobWithAFreeSeatRunsAlready) {
  LeaderScenario scenario = running(job_of(2, 3), 2);
  EXPECT_EQ(scenario.arrive(9, 2),
            "9: refused: the job runs already, and it cannot restart (--max-restarts is 0) | "
            "drop 9");
}

TEST(IpAllowList, KeepsOneAgentTooManyAsASpare) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  EXPECT_EQ(scenario.arrive(9), "9: admitted as a spare of a job that runs");
  EXPECT_TRUE(scenario.has_said("host-j (10.0.0.10) is a spare: it waits until a node is needed"));
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(IpAllowList, InformsASpareThatTheJobRuns) {
  LeaderScenario scenario(restarting(job_of(2)));
  Join unready = scenario.join_of(1, 1);
  unready.waits_for = "its rank table";
  (void)scenario.arrive(1, unready);
  EXPECT_EQ(scenario.arrive(9), "9: admitted as a spare");

  const std::string words = scenario.receive(1, InputStatus{});

  EXPECT_NE(words.find("9: admitted as a spare of a job that runs"), std::string::npos) << words;
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(IpAllowList, KeepsNotManyMoreSparesThanTheJobHasNodes) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  std::string last;
  for (LinkId link = 10; link < 40 && last.find("refused") == std::string::npos; ++link) {
    last = scenario.arrive(link);
  }
  EXPECT_NE(last.find("refused for now: there are more spares than the job has nodes"), std::string::npos) << last;
}

TEST(IpAllowList, KeepsNoSpareForAJobThatEnds) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.receive(0, StopFromAgent{SIGTERM});
  EXPECT_EQ(scenario.arrive(9).substr(0, 10), "9: refused");
}

TEST(IpAllowList, LetsASpareLeave) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.arrive(9);
  EXPECT_EQ(scenario.receive(9, StopFromAgent{SIGTERM}), "9: finish: stopped 143 | drop 9");
  EXPECT_EQ(scenario.lose(9), "");
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(IpAllowList, SendsTheEndToASpare) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.arrive(9);
  (void)scenario.receive(0, last_success_of(1));
  EXPECT_EQ(scenario.receive(1, last_success_of(3)), "0,1: stop 0 by SIGTERM, the end is succeeded 0");

  EXPECT_EQ(scenario.end_all(), "0,1,9: finish: succeeded 0");
}

TEST(IpAllowList, SeatsASpareWhereANodeLeavesWhileThePortIsReserved) {
  LeaderScenario scenario(restarting(job_of(2)), std::nullopt);
  scenario.answers_port = false;
  (void)scenario.arrive(1);
  EXPECT_EQ(scenario.arrive(9), "9: admitted as a spare");
  EXPECT_EQ(scenario.lose(1), "9: admitted as node 1");

  EXPECT_NE(scenario.happen(PortReserved{{4'711}, ""}).find("9: start 0 as node 1"), std::string::npos);
}

TEST(IpAllowList, NamesNodesWithAnotherTokenAtItsTimeout) {
  LeaderScenario scenario(job_of(2));
  (void)scenario.happen(AuthFailed{"10.0.0.9", "has another token"});

  (void)scenario.wait(seconds(900));

  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(scenario.end->reason,
            "1 of 2 nodes came within 900 s: node 1 never joined; 10.0.0.9 was refused: it has "
            "another token");
}

TEST(IpAllowList, ForgetsAWrongTokenOnceThatNodeHasJoined) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.happen(AuthFailed{"10.0.0.2", "has another token"});
  (void)scenario.arrive(1, 1);

  (void)scenario.wait(seconds(900));

  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(scenario.end->reason, "2 of 3 nodes came within 900 s: node 2 never connected");
}

TEST(IpAllowList, NamesRefusedNodesAtItsTimeout) {
  LeaderScenario scenario(job_of(3));
  Join join = scenario.join_of(1, 1);
  join.job.job_id = "bert";
  (void)scenario.arrive(1, join);
  (void)scenario.wait(seconds(900));

  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(scenario.end->reason,
            "1 of 3 nodes came within 900 s: node 2 never connected; node 1 (host-b) was refused: "
            "its job is 'bert', the leader's is 'llama'");
}

}  // namespace
}  // namespace muster::gang
