// A signal from outside reached an agent: in each state of the job, at the leader and elsewhere.
#include "gang/protocol/leader_scenario.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

/// Attempt 0 has failed and ended, and a back-off or a fence keeps attempt 1 waiting.
LeaderScenario resting(const GangConfig& config, int nodes) {
  LeaderScenario scenario = running(config, nodes);
  (void)scenario.lose(static_cast<LinkId>(nodes - 1));
  (void)scenario.end_all();
  EXPECT_EQ(scenario.state(), State::Resting);
  return scenario;
}

// --- The leader's own agent ---------------------------------------------------------------------

TEST(StopAtTheLeader, EndsTheJobBeforeItStarts) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.arrive(1, 1);

  EXPECT_EQ(scenario.receive(0, StopFromAgent{SIGTERM}), "0,1: finish: stopped 143");
  EXPECT_EQ(scenario.end->stop_signal, SIGTERM);
  EXPECT_EQ(scenario.lose(1), "dissolve");
}

TEST(StopAtTheLeader, EndsTheAttemptWithTheSameSignal) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);

  EXPECT_EQ(scenario.receive(0, StopFromAgent{SIGINT}), "0,1: stop 0 by SIGINT, the end is stopped 130");
  EXPECT_EQ(scenario.end_all(), "0,1: finish: stopped 130") << "and there is no restart";
}

TEST(StopAtTheLeader, MeansNoOtherAttemptWhileOneIsStopping) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  EXPECT_EQ(scenario.receive(0, StopFromAgent{SIGTERM}), "") << "the workers are ending already";

  EXPECT_EQ(scenario.end_all(), "0,1: finish: stopped 143");
}

TEST(StopAtTheLeader, ChangesNoEndThatIsKnown) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  EXPECT_EQ(scenario.receive(0, StopFromAgent{SIGTERM}), "");

  EXPECT_EQ(scenario.end_all(), "0,1: finish: failed 9");
}

TEST(StopAtTheLeader, EndsTheJobBetweenAttempts) {
  LeaderScenario scenario = resting(restarting(job_of(2)), 2);

  EXPECT_EQ(scenario.receive(0, StopFromAgent{SIGTERM}), "0: finish: stopped 143 | dissolve");
}

TEST(StopAtTheLeader, EndsTheJobThatWaitsForAReplacement) {
  LeaderScenario scenario = resting(restarting(job_of(2)), 2);
  (void)scenario.wait(seconds(60));
  ASSERT_EQ(scenario.state(), State::Rendezvous);

  EXPECT_EQ(scenario.receive(0, StopFromAgent{SIGHUP}), "0: finish: stopped 129 | dissolve");
}

// --- A person asks again on the same agent ---------------------------------------------------------

constexpr StopFromAgent kUrgent{SIGTERM, /*is_urgent=*/true};

TEST(SecondStop, ChangesNothingWhereItIsNotUrgent) {
  LeaderScenario scenario = running(3);
  (void)scenario.receive(1, StopFromAgent{SIGTERM});

  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM}), "");
  EXPECT_EQ(scenario.receive(2, StopFromAgent{SIGTERM}), "") << "a scheduler asks every node";
}

TEST(SecondStop, LimitsTheGraceWhereItSaysSo) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(1, StopFromAgent{SIGTERM});

  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM, /*is_urgent=*/false, std::chrono::milliseconds(0)}),
            "0,1: stop 0 by SIGTERM within 0 ms, the end is stopped 143");
}

TEST(SecondStop, KillsOnEveryNodeThatHasNotEnded) {
  LeaderScenario scenario = running(3);
  (void)scenario.receive(1, StopFromAgent{SIGTERM});
  (void)scenario.receive(1, AttemptOver{});

  EXPECT_EQ(scenario.receive(1, kUrgent), "0,2: stop 0 by SIGTERM, now, the end is stopped 143");
}

TEST(SecondStop, MeansNoOtherAttempt) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  EXPECT_EQ(scenario.receive(0, kUrgent), "0,1: stop 0 by SIGTERM, now, the end is stopped 143");
  EXPECT_EQ(scenario.end_all(), "0,1: finish: stopped 143");
}

TEST(SecondStop, KeepsTheEndThatIsKnown) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  EXPECT_EQ(scenario.receive(0, kUrgent), "0,1: stop 0 by SIGTERM, now, the end is failed 9");
}

TEST(SecondStop, EndsARunningAttemptWhereTheFirstWasMissed) {
  LeaderScenario scenario = running(2);
  EXPECT_EQ(scenario.receive(0, kUrgent),
            "0,1: stop 0 by SIGTERM, the end is stopped 143 | "
            "0,1: stop 0 by SIGTERM, now, the end is stopped 143");
}

TEST(SecondStop, DoesNotKillOtherNodesWhenANodeOnlyLeaves) {
  LeaderScenario scenario = running(restarting(job_of(2, 3)), 3);
  (void)scenario.receive(2, StopFromAgent{SIGTERM});
  EXPECT_EQ(scenario.receive(2, kUrgent), "");
}

TEST(SecondStop, ChangesNothingAfterTheEnd) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  (void)scenario.end_all();
  EXPECT_EQ(scenario.receive(1, kUrgent), "");
}

// --- Another agent ------------------------------------------------------------------------------

TEST(StopElsewhere, LetsAnotherAgentComeBeforeTheStart) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.arrive(1, 1);
  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM}), "");
  EXPECT_EQ(scenario.lose(1).find("finish: failed"), std::string::npos);
  EXPECT_EQ(scenario.state(), State::Rendezvous);

  EXPECT_EQ(scenario.arrive(2, 1), "2: admitted as node 1");
}

TEST(StopElsewhere, NamesNodesThatLeftBeforeTheStart) {
  GangConfig config = job_of(3);
  config.options.timeout = seconds(20);
  LeaderScenario scenario(config);
  (void)scenario.arrive(1, 1);
  (void)scenario.receive(1, StopFromAgent{SIGTERM});
  (void)scenario.lose(1);
  (void)scenario.wait(seconds(20));

  EXPECT_EQ(scenario.end->reason,
            "1 of 3 nodes came within 20 s: node 2 never connected; "
            "node 1 (host-b) left: was stopped by SIGTERM");
}

TEST(StopElsewhere, EndsAJobThatNeedsTheNode) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);

  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM}), "0,1: stop 0 by SIGTERM, the end is stopped 143");
  EXPECT_EQ(scenario.end_all(), "0,1: finish: stopped 143");
}

TEST(StopElsewhere, EndsAJobThatMayBeSmallerButNotRestart) {
  LeaderScenario scenario = running(job_of(2, 3), 3);

  EXPECT_EQ(scenario.receive(2, StopFromAgent{SIGTERM}), "0,1,2: stop 0 by SIGTERM, the end is stopped 143");
}

TEST(StopElsewhere, ContinuesWithASmallerJob) {
  LeaderScenario scenario = running(restarting(job_of(2, 3)), 3);
  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM}), "0,1,2: stop 0 by SIGTERM");
  EXPECT_TRUE(scenario.has_said("node 1, host-b (10.0.0.2), leaves after SIGTERM: going on without it"));
  EXPECT_EQ(scenario.receive(1, AttemptOver{}), "1: finish: stopped 143 | drop 1") << "it is not kept";
  (void)scenario.receive(0, AttemptOver{});

  EXPECT_EQ(scenario.receive(2, AttemptOver{}),
            "reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "2: start 1 as node 1 of 2, slots 2 of 4")
      << "nothing can be alive there: no fence";
}

TEST(StopElsewhere, ContinuesWithASpare) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.arrive(9);
  (void)scenario.receive(1, StopFromAgent{SIGTERM});
  (void)scenario.receive(1, AttemptOver{});

  EXPECT_EQ(scenario.receive(0, AttemptOver{}),
            "9: admitted as node 1 | reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "9: start 1 as node 1 of 2, slots 2 of 4");
}

TEST(StopElsewhere, DoesNotStopTheJobWhenTheNodeHasAlreadyEnded) {
  LeaderScenario scenario = running(restarting(job_of(2, 3)), 3);
  (void)scenario.receive(1, last_success_of(3));
  (void)scenario.receive(1, AttemptOver{});

  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM}), "1: finish: stopped 143 | drop 1");
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(StopElsewhere, LetsANodeGoWhileStopping) {
  LeaderScenario scenario = running(restarting(job_of(2, 3)), 3);
  (void)scenario.receive(0, Failed{0, failure_of(1)});
  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM}), "");
  EXPECT_EQ(scenario.receive(1, AttemptOver{}), "1: finish: stopped 143 | drop 1");
  (void)scenario.receive(0, AttemptOver{});

  EXPECT_NE(scenario.receive(2, AttemptOver{}).find("2: start 1 as node 1 of 2"), std::string::npos);
}

TEST(StopElsewhere, LetsANodeGoThatHadEndedWhileStopping) {
  LeaderScenario scenario = running(restarting(job_of(2, 3)), 3);
  (void)scenario.receive(0, Failed{0, failure_of(1)});
  (void)scenario.receive(1, AttemptOver{});

  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM}), "1: finish: stopped 143 | drop 1");
}

TEST(StopElsewhere, EndsAJobThatNeedsTheNodeWhileStopping) {
  LeaderScenario scenario = running(restarting(job_of(3)), 3);
  (void)scenario.receive(0, Failed{0, failure_of(1)});
  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM}), "");

  EXPECT_EQ(scenario.end_all(), "0,1,2: finish: stopped 143");
}

TEST(StopElsewhere, LetsANodeGoBetweenAttempts) {
  LeaderScenario scenario = resting(restarting(job_of(2, 4)), 4);

  EXPECT_EQ(scenario.receive(2, StopFromAgent{SIGTERM}), "2: finish: stopped 143 | drop 2");
  EXPECT_NE(scenario.wait(seconds(60)).find("1: start 1 as node 1 of 2"), std::string::npos);
}

TEST(StopElsewhere, EndsAJobThatNeedsTheNodeBetweenAttempts) {
  LeaderScenario scenario = resting(restarting(job_of(3)), 3);

  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM}), "0,1: finish: stopped 143");
}

TEST(StopElsewhere, EndsAJobThatWaitsForAReplacementAndNeedsTheNode) {
  LeaderScenario scenario = resting(restarting(job_of(3)), 3);
  (void)scenario.wait(seconds(60));
  ASSERT_EQ(scenario.state(), State::Rendezvous);

  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM}), "0,1: finish: stopped 143");
}

TEST(StopElsewhere, ReplacesAStoppedNodeByASpareWhileThePortIsReserved) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.arrive(9);
  scenario.answers_port = false;
  EXPECT_EQ(scenario.fail_all(0), "reserve port");

  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM}), "1: finish: stopped 143 | drop 1 | 9: admitted as node 1");
  EXPECT_TRUE(scenario.has_said("node 1, host-b (10.0.0.2), left: it was stopped by SIGTERM")) << scenario.all_said();
  EXPECT_NE(scenario.happen(PortReserved{{4'711}, ""}).find("9: start 1 as node 1"), std::string::npos);
}

TEST(StopElsewhere, EndsTheJobWhenMoreLeaveThanItCanSpare) {
  LeaderScenario scenario = running(restarting(job_of(2, 3)), 3);
  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM}), "0,1,2: stop 0 by SIGTERM");
  EXPECT_EQ(scenario.receive(2, StopFromAgent{SIGTERM}), "") << "one node would be too few";
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.receive(1, AttemptOver{});

  EXPECT_EQ(scenario.receive(2, AttemptOver{}), "0,2: finish: stopped 143");
}

TEST(StopElsewhere, IsNotWaitedForWhenTheLeavingNodeIsLost) {
  LeaderScenario scenario = running(restarting(job_of(2, 3)), 3);
  (void)scenario.receive(1, StopFromAgent{SIGTERM});
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.receive(2, AttemptOver{});
  (void)scenario.lose(1);

  EXPECT_EQ(scenario.state(), State::Resting) << "something may be alive there";
  EXPECT_NE(scenario.wait(seconds(60)).find("2: start 1 as node 1 of 2"), std::string::npos);
}

TEST(Awaited, IsNamed) {
  LeaderScenario scenario = running(3);
  EXPECT_TRUE(scenario.leader().awaited().empty());
  (void)scenario.receive(1, Failed{0, failure_of(2)});
  (void)scenario.receive(kOwnLink, AttemptOver{0, std::nullopt, std::nullopt});
  (void)scenario.receive(1, AttemptOver{0, std::nullopt, std::nullopt});
  EXPECT_EQ(scenario.leader().awaited(), std::vector<std::string>{"end of the workers of node 2"});
  (void)scenario.receive(2, AttemptOver{0, std::nullopt, std::nullopt});
  (void)scenario.lose(1);
  EXPECT_EQ(scenario.leader().awaited(), std::vector<std::string>{"goodbye of node 2"});
}

}  // namespace
}  // namespace muster::gang
