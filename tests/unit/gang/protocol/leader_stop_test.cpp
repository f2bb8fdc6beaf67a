// A signal from outside reached an agent: in each state of the job, at the leader and elsewhere.
#include "gang/protocol/leader_story.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

/// Attempt 0 has failed and ended, and a back-off or a fence keeps attempt 1 waiting.
LeaderStory resting(const GangConfig& config, int nodes) {
  LeaderStory story = running(config, nodes);
  (void)story.lose(static_cast<LinkId>(nodes - 1));
  (void)story.end_all();
  EXPECT_EQ(story.state(), State::Resting);
  return story;
}

// --- The leader's own agent ---------------------------------------------------------------------

TEST(StopAtTheLeader, EndsTheJobBeforeItStarts) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, 1);

  EXPECT_EQ(story.read_signal(0, StopFromAgent{SIGTERM}), "0,1: finish: stopped 143");
  EXPECT_EQ(story.end->stop_signal, SIGTERM);
  EXPECT_EQ(story.lose(1), "dissolve");
}

TEST(StopAtTheLeader, EndsTheAttemptWithTheSameSignal) {
  LeaderStory story = running(restarting(job_of(2)), 2);

  EXPECT_EQ(story.read_signal(0, StopFromAgent{SIGINT}), "0,1: stop 0 by SIGINT, the end is stopped 130");
  EXPECT_EQ(story.end_all(), "0,1: finish: stopped 130") << "and there is no restart";
}

TEST(StopAtTheLeader, MeansNoOtherAttemptWhileOneIsStopping) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  EXPECT_EQ(story.read_signal(0, StopFromAgent{SIGTERM}), "") << "the workers are ending already";

  EXPECT_EQ(story.end_all(), "0,1: finish: stopped 143");
}

TEST(StopAtTheLeader, ChangesNoEndThatIsKnown) {
  LeaderStory story = running(2);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  EXPECT_EQ(story.read_signal(0, StopFromAgent{SIGTERM}), "");

  EXPECT_EQ(story.end_all(), "0,1: finish: failed 9");
}

TEST(StopAtTheLeader, EndsTheJobBetweenAttempts) {
  LeaderStory story = resting(restarting(job_of(2)), 2);

  EXPECT_EQ(story.read_signal(0, StopFromAgent{SIGTERM}), "0: finish: stopped 143 | dissolve");
}

TEST(StopAtTheLeader, EndsTheJobThatWaitsForAReplacement) {
  LeaderStory story = resting(restarting(job_of(2)), 2);
  (void)story.wait(seconds(60));
  ASSERT_EQ(story.state(), State::Rendezvous);

  EXPECT_EQ(story.read_signal(0, StopFromAgent{SIGHUP}), "0: finish: stopped 129 | dissolve");
}

// --- A person asks again on the same agent ---------------------------------------------------------

constexpr StopFromAgent kUrgent{SIGTERM, /*is_urgent=*/true};

TEST(SecondStop, ChangesNothingWhereItIsNotUrgent) {
  LeaderStory story = running(3);
  (void)story.read_signal(1, StopFromAgent{SIGTERM});

  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM}), "");
  EXPECT_EQ(story.read_signal(2, StopFromAgent{SIGTERM}), "") << "a scheduler asks every node";
}

TEST(SecondStop, LimitsTheGraceWhereItSaysSo) {
  LeaderStory story = running(2);
  (void)story.read_signal(1, StopFromAgent{SIGTERM});

  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM, /*is_urgent=*/false, std::chrono::milliseconds(0)}),
            "0,1: stop 0 by SIGTERM within 0 ms, the end is stopped 143");
}

TEST(SecondStop, KillsOnEveryNodeThatHasNotEnded) {
  LeaderStory story = running(3);
  (void)story.read_signal(1, StopFromAgent{SIGTERM});
  (void)story.read_signal(1, AttemptOver{});

  EXPECT_EQ(story.read_signal(1, kUrgent), "0,2: stop 0 by SIGTERM, now, the end is stopped 143");
}

TEST(SecondStop, MeansNoOtherAttempt) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  EXPECT_EQ(story.read_signal(0, kUrgent), "0,1: stop 0 by SIGTERM, now, the end is stopped 143");
  EXPECT_EQ(story.end_all(), "0,1: finish: stopped 143");
}

TEST(SecondStop, KeepsTheEndThatIsKnown) {
  LeaderStory story = running(2);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  EXPECT_EQ(story.read_signal(0, kUrgent), "0,1: stop 0 by SIGTERM, now, the end is failed 9");
}

TEST(SecondStop, EndsARunningAttemptWhereTheFirstWasMissed) {
  LeaderStory story = running(2);
  EXPECT_EQ(story.read_signal(0, kUrgent),
            "0,1: stop 0 by SIGTERM, the end is stopped 143 | "
            "0,1: stop 0 by SIGTERM, now, the end is stopped 143");
}

TEST(SecondStop, DoesNotKillOtherNodesWhenANodeOnlyLeaves) {
  LeaderStory story = running(restarting(job_of(2, 3)), 3);
  (void)story.read_signal(2, StopFromAgent{SIGTERM});
  EXPECT_EQ(story.read_signal(2, kUrgent), "");
}

TEST(SecondStop, ChangesNothingAfterTheEnd) {
  LeaderStory story = running(2);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  (void)story.end_all();
  EXPECT_EQ(story.read_signal(1, kUrgent), "");
}

// --- Another agent ------------------------------------------------------------------------------

TEST(StopElsewhere, LetsAnotherAgentComeBeforeTheStart) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, 1);
  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM}), "");
  EXPECT_EQ(story.lose(1).find("finish: failed"), std::string::npos);
  EXPECT_EQ(story.state(), State::Rendezvous);

  EXPECT_EQ(story.arrive(2, 1), "2: admitted as node 1");
}

TEST(StopElsewhere, NamesNodesThatLeftBeforeTheStart) {
  GangConfig config = job_of(3);
  config.options.timeout = seconds(20);
  LeaderStory story(config);
  (void)story.arrive(1, 1);
  (void)story.read_signal(1, StopFromAgent{SIGTERM});
  (void)story.lose(1);
  (void)story.wait(seconds(20));

  EXPECT_EQ(story.end->reason,
            "1 of 3 nodes came within 20 s: node 2 never connected; "
            "node 1 (host-b) left: was stopped by SIGTERM");
}

TEST(StopElsewhere, EndsAJobThatNeedsTheNode) {
  LeaderStory story = running(restarting(job_of(2)), 2);

  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM}), "0,1: stop 0 by SIGTERM, the end is stopped 143");
  EXPECT_EQ(story.end_all(), "0,1: finish: stopped 143");
}

TEST(StopElsewhere, EndsAJobThatMayBeSmallerButNotRestart) {
  LeaderStory story = running(job_of(2, 3), 3);

  EXPECT_EQ(story.read_signal(2, StopFromAgent{SIGTERM}), "0,1,2: stop 0 by SIGTERM, the end is stopped 143");
}

TEST(StopElsewhere, ContinuesWithASmallerJob) {
  LeaderStory story = running(restarting(job_of(2, 3)), 3);
  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM}), "0,1,2: stop 0 by SIGTERM");
  EXPECT_TRUE(story.has_said("node 1, host-b (10.0.0.2), leaves after SIGTERM: going on without it"));
  EXPECT_EQ(story.read_signal(1, AttemptOver{}), "1: finish: stopped 143 | drop 1") << "it is not kept";
  (void)story.read_signal(0, AttemptOver{});

  EXPECT_EQ(story.read_signal(2, AttemptOver{}),
            "reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "2: start 1 as node 1 of 2, slots 2 of 4")
      << "nothing can be alive there: no fence";
}

TEST(StopElsewhere, ContinuesWithASpare) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.arrive(9);
  (void)story.read_signal(1, StopFromAgent{SIGTERM});
  (void)story.read_signal(1, AttemptOver{});

  EXPECT_EQ(story.read_signal(0, AttemptOver{}),
            "9: admitted as node 1 | reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "9: start 1 as node 1 of 2, slots 2 of 4");
}

TEST(StopElsewhere, DoesNotStopTheJobWhenTheNodeHasAlreadyEnded) {
  LeaderStory story = running(restarting(job_of(2, 3)), 3);
  (void)story.read_signal(1, last_success_of(3));
  (void)story.read_signal(1, AttemptOver{});

  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM}), "1: finish: stopped 143 | drop 1");
  EXPECT_EQ(story.state(), State::Running);
}

TEST(StopElsewhere, LetsANodeGoWhileStopping) {
  LeaderStory story = running(restarting(job_of(2, 3)), 3);
  (void)story.read_signal(0, Failed{0, failure_of(1)});
  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM}), "");
  EXPECT_EQ(story.read_signal(1, AttemptOver{}), "1: finish: stopped 143 | drop 1");
  (void)story.read_signal(0, AttemptOver{});

  EXPECT_NE(story.read_signal(2, AttemptOver{}).find("2: start 1 as node 1 of 2"), std::string::npos);
}

TEST(StopElsewhere, LetsANodeGoThatHadEndedWhileStopping) {
  LeaderStory story = running(restarting(job_of(2, 3)), 3);
  (void)story.read_signal(0, Failed{0, failure_of(1)});
  (void)story.read_signal(1, AttemptOver{});

  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM}), "1: finish: stopped 143 | drop 1");
}

TEST(StopElsewhere, EndsAJobThatNeedsTheNodeWhileStopping) {
  LeaderStory story = running(restarting(job_of(3)), 3);
  (void)story.read_signal(0, Failed{0, failure_of(1)});
  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM}), "");

  EXPECT_EQ(story.end_all(), "0,1,2: finish: stopped 143");
}

TEST(StopElsewhere, LetsANodeGoBetweenAttempts) {
  LeaderStory story = resting(restarting(job_of(2, 4)), 4);

  EXPECT_EQ(story.read_signal(2, StopFromAgent{SIGTERM}), "2: finish: stopped 143 | drop 2");
  EXPECT_NE(story.wait(seconds(60)).find("1: start 1 as node 1 of 2"), std::string::npos);
}

TEST(StopElsewhere, EndsAJobThatNeedsTheNodeBetweenAttempts) {
  LeaderStory story = resting(restarting(job_of(3)), 3);

  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM}), "0,1: finish: stopped 143");
}

TEST(StopElsewhere, EndsAJobThatWaitsForAReplacementAndNeedsTheNode) {
  LeaderStory story = resting(restarting(job_of(3)), 3);
  (void)story.wait(seconds(60));
  ASSERT_EQ(story.state(), State::Rendezvous);

  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM}), "0,1: finish: stopped 143");
}

TEST(StopElsewhere, ReplacesAStoppedNodeByASpareWhileThePortIsReserved) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.arrive(9);
  story.answers_port = false;
  EXPECT_EQ(story.fail_all(0), "reserve port");

  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM}), "1: finish: stopped 143 | drop 1 | 9: admitted as node 1");
  EXPECT_TRUE(story.has_said("node 1, host-b (10.0.0.2), left: it was stopped by SIGTERM")) << story.all_said();
  EXPECT_NE(story.happen(PortReserved{{4'711}, ""}).find("9: start 1 as node 1"), std::string::npos);
}

TEST(StopElsewhere, EndsTheJobWhenMoreLeaveThanItCanSpare) {
  LeaderStory story = running(restarting(job_of(2, 3)), 3);
  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM}), "0,1,2: stop 0 by SIGTERM");
  EXPECT_EQ(story.read_signal(2, StopFromAgent{SIGTERM}), "") << "one node would be too few";
  (void)story.read_signal(0, AttemptOver{});
  (void)story.read_signal(1, AttemptOver{});

  EXPECT_EQ(story.read_signal(2, AttemptOver{}), "0,2: finish: stopped 143");
}

TEST(StopElsewhere, IsNotWaitedForWhenTheLeavingNodeIsLost) {
  LeaderStory story = running(restarting(job_of(2, 3)), 3);
  (void)story.read_signal(1, StopFromAgent{SIGTERM});
  (void)story.read_signal(0, AttemptOver{});
  (void)story.read_signal(2, AttemptOver{});
  (void)story.lose(1);

  EXPECT_EQ(story.state(), State::Resting) << "something may be alive there";
  EXPECT_NE(story.wait(seconds(60)).find("2: start 1 as node 1 of 2"), std::string::npos);
}

TEST(Awaited, IsNamed) {
  LeaderStory story = running(3);
  EXPECT_TRUE(story.leader().awaited().empty());
  (void)story.read_signal(1, Failed{0, failure_of(2)});
  (void)story.read_signal(kOwnLink, AttemptOver{0, std::nullopt, std::nullopt});
  (void)story.read_signal(1, AttemptOver{0, std::nullopt, std::nullopt});
  EXPECT_EQ(story.leader().awaited(), std::vector<std::string>{"end of the workers of node 2"});
  (void)story.read_signal(2, AttemptOver{0, std::nullopt, std::nullopt});
  (void)story.lose(1);
  EXPECT_EQ(story.leader().awaited(), std::vector<std::string>{"goodbye of node 2"});
}

}  // namespace
}  // namespace muster::gang
