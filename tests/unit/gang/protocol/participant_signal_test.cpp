// Signals from outside and the loss of the guard, in every state of an agent: the first one asks, and INT or QUIT after
// it mean "now".
#include "gang/protocol/participant_scenario.hpp"

namespace muster::gang {
namespace {

TEST(Signal, EndsTheSearchForTheLeaderAtOnce) {
  ParticipantScenario scenario;
  EXPECT_EQ(scenario.signal(SIGINT), "leave: stopped 130");
  EXPECT_EQ(scenario.end->stop_signal, SIGINT);
  EXPECT_EQ(scenario.happen(LinkUp{}), "") << "the dial was on its way";
}

TEST(Signal, EndsTheWaitForTheStartAtOnceAndInformsTheLeader) {
  ParticipantScenario scenario = joined();
  EXPECT_EQ(scenario.signal(SIGTERM), "tell stop asked by SIGTERM | hang up | leave: stopped 143");
}

TEST(Signal, ReachesTheWorkersAndTheLeader) {
  ParticipantScenario scenario = running_participant();
  EXPECT_EQ(scenario.signal(SIGTERM), "pass SIGTERM | tell stop asked by SIGTERM");
  EXPECT_EQ(scenario.state(), Participant::State::Running) << "the leader decides";
  EXPECT_EQ(scenario.receive(Stop{0, SIGTERM, "", end_of(Verdict::Stopped, 143)}), "stop workers by SIGTERM");
  EXPECT_EQ(scenario.happen(AttemptOver{}), "tell ended 0");
  EXPECT_EQ(scenario.receive(Finish{end_of(Verdict::Stopped, 143)}), "hang up | leave: stopped 143");
}

TEST(Announcement, TellsThisNodeThatAStallBegins) {
  ParticipantScenario scenario = running_participant();
  EXPECT_EQ(scenario.happen(Announced{"it hangs", StallBegun{{3}}}), "tell announce: it hangs, for rank 3");
  EXPECT_EQ(scenario.receive(Announce{"it hangs", true, {3}}), "a stall begins: rank 3");
  EXPECT_EQ(scenario.receive(Announce{"it moves"}), "");
}

TEST(Signal, ReachesTheWorkersASecondTime) {
  ParticipantScenario scenario = running_participant();
  (void)scenario.signal(SIGTERM);
  EXPECT_EQ(scenario.signal(SIGINT), "pass SIGINT | tell stop asked by SIGINT, now")
      << "the supervisor kills at INT, and the leader tells the other nodes";
}

TEST(Signal, IsNotUrgentWhereASchedulerRepeatsIt) {
  ParticipantScenario scenario = running_participant();
  (void)scenario.signal(SIGTERM);
  EXPECT_EQ(scenario.signal(SIGTERM), "pass SIGTERM | tell stop asked by SIGTERM");
  EXPECT_EQ(scenario.signal(SIGHUP), "pass SIGHUP | tell stop asked by SIGHUP");
}

TEST(Signal, IsLeftToTheLeaderWhereItLimitsTheGrace) {
  ParticipantScenario scenario = running_participant();
  (void)scenario.signal(SIGTERM);
  EXPECT_EQ(scenario.happen(StopSignal{SIGTERM, /*workers_know=*/false, std::chrono::milliseconds(0)}),
            "tell stop asked by SIGTERM");
}

TEST(Signal, IsNotUrgentWhereAllNodesGetTheSameOne) {
  ParticipantScenario scenario = running_participant();
  (void)scenario.receive(Stop{0, SIGINT, "", end_of(Verdict::Stopped, 130)});
  EXPECT_EQ(scenario.signal(SIGINT), "pass SIGINT | tell stop asked by SIGINT") << "as srun sends it";
  EXPECT_EQ(scenario.signal(SIGINT), "pass SIGINT | tell stop asked by SIGINT, now");
}

TEST(Signal, IsUrgentFromAKeyboardAfterARequestToAnotherNode) {
  ParticipantScenario scenario = running_participant();
  (void)scenario.receive(Stop{0, SIGTERM, "", end_of(Verdict::Stopped, 143)});
  EXPECT_EQ(scenario.signal(SIGINT), "pass SIGINT | tell stop asked by SIGINT, now");
}

TEST(Signal, IsNotUrgentAtFirstAfterAFailure) {
  ParticipantScenario scenario = running_participant();
  (void)scenario.receive(Stop{0, SIGTERM, "", end_of(Verdict::Failed, 9)});
  EXPECT_EQ(scenario.signal(SIGINT), "pass SIGINT | tell stop asked by SIGINT");
}

TEST(Signal, IsNotForwardedWhereTheTerminalSentItToTheWorkers) {
  ParticipantScenario scenario = running_participant();
  EXPECT_EQ(scenario.happen(StopSignal{SIGINT, /*workers_know=*/true}), "tell stop asked by SIGINT");
}

TEST(Signal, ReachesWorkersThatAreBeingEnded) {
  ParticipantScenario scenario = stopping();
  EXPECT_EQ(scenario.signal(SIGTERM), "pass SIGTERM | tell stop asked by SIGTERM");
  EXPECT_EQ(scenario.signal(SIGINT), "pass SIGINT | tell stop asked by SIGINT, now");
}

TEST(Signal, KillsTheWorkersWhenAnotherNodeGotItTwice) {
  ParticipantScenario scenario = stopping();
  EXPECT_EQ(scenario.receive(Stop{0, SIGTERM, "", end_of(Verdict::Stopped, 143), /*is_urgent=*/true}), "kill workers");
  EXPECT_EQ(scenario.happen(AttemptOver{}), "tell ended 0");
}

TEST(Signal, IsTheEndWhenTheLeaderIsLostBeforeItAnswers) {
  ParticipantScenario scenario = running_participant();
  (void)scenario.signal(SIGTERM);
  (void)scenario.happen(LinkDown{"closed the connection"});
  EXPECT_EQ(scenario.happen(AttemptOver{}), "leave: stopped 143");
}

TEST(Signal, ReachesTheWorkersOfALostLeader) {
  ParticipantScenario scenario = running_participant();
  (void)scenario.happen(LinkDown{"closed the connection"});
  EXPECT_EQ(scenario.signal(SIGTERM), "pass SIGTERM");
  EXPECT_EQ(scenario.happen(AttemptOver{}), "leave: lost 69");
}

TEST(Signal, RequestsTheEndFromTheLeaderBetweenAttempts) {
  ParticipantScenario scenario = over();
  EXPECT_EQ(scenario.signal(SIGTERM), "tell stop asked by SIGTERM");
  EXPECT_EQ(scenario.receive(Finish{end_of(Verdict::Stopped, 143)}), "hang up | leave: stopped 143");
}

TEST(Signal, DoesNotWaitForTheLeaderOnceItMeansNow) {
  ParticipantScenario scenario = over();
  (void)scenario.signal(SIGTERM);
  EXPECT_EQ(scenario.signal(SIGTERM), "tell stop asked by SIGTERM") << "workers of other nodes may be saving";
  EXPECT_EQ(scenario.signal(SIGINT), "tell stop asked by SIGINT, now | hang up | leave: stopped 143")
      << "by the first one";
}

TEST(Signal, EndsTheWaitOfAnAgentThatKnowsTheEnd) {
  ParticipantScenario scenario = over(end_of(Verdict::Failed, 9));
  EXPECT_EQ(scenario.signal(SIGTERM), "tell stop asked by SIGTERM | hang up | leave: failed 9");
}

TEST(Signal, MeansNowWhereTheFirstOneStoppedTheAttempt) {
  ParticipantScenario scenario = running_participant();
  (void)scenario.signal(SIGTERM);
  (void)scenario.happen(AttemptOver{});
  EXPECT_EQ(scenario.state(), Participant::State::Over);
  EXPECT_EQ(scenario.signal(SIGINT), "tell stop asked by SIGINT, now | hang up | leave: stopped 143");
}

TEST(Signal, IsNothingToAnAgentThatHasLeft) {
  ParticipantScenario scenario = joined();
  (void)scenario.signal(SIGTERM);
  EXPECT_EQ(scenario.signal(SIGTERM), "");
  EXPECT_EQ(scenario.happen(GuardGone{}), "");
  EXPECT_EQ(scenario.happen(Wake{}), "");
}

TEST(SignalAtTheLeader, IsAnsweredByTheLeaderBeforeTheStart) {
  ParticipantScenario scenario = leading();
  EXPECT_EQ(scenario.signal(SIGTERM), "tell stop asked by SIGTERM") << "the others are told first";
  EXPECT_EQ(scenario.receive(Finish{end_of(Verdict::Stopped, 143)}), "hang up | leave: stopped 143");
}

TEST(SignalAtTheLeader, LeavesTheOthersAtTheThirdOne) {
  ParticipantScenario scenario = leading();
  EXPECT_EQ(scenario.signal(SIGINT), "tell stop asked by SIGINT");
  EXPECT_EQ(scenario.signal(SIGINT), "tell stop asked by SIGINT, now") << "they are told first";
  EXPECT_EQ(scenario.signal(SIGINT), "tell stop asked by SIGINT, now | hang up | leave: stopped 130");
}

TEST(SignalAtTheLeader, WaitsForTheOthersHoweverOftenASchedulerAsks) {
  ParticipantScenario scenario = leading();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(scenario.signal(SIGTERM), "tell stop asked by SIGTERM");
  }
}

TEST(SignalAtTheLeader, WaitsForTheOthersAlthoughTheEndIsKnown) {
  ParticipantScenario scenario = leading();
  (void)scenario.receive(start_of(0));
  (void)scenario.receive(Stop{0, SIGTERM, "", end_of(Verdict::Failed, 9)});
  (void)scenario.happen(AttemptOver{});
  EXPECT_EQ(scenario.signal(SIGTERM), "tell stop asked by SIGTERM");
  EXPECT_EQ(scenario.receive(Finish{end_of(Verdict::Failed, 9)}), "hang up | leave: failed 9");
}

// --- The guard ----------------------------------------------------------------------------------

TEST(GuardGone, EndsAnAgentWithoutWorkersAtOnce) {
  ParticipantScenario seeking;
  EXPECT_EQ(seeking.happen(GuardGone{}), "hang up | leave: stopped 137");
  ParticipantScenario waiting = joined();
  EXPECT_EQ(waiting.happen(GuardGone{}), "hang up | leave: stopped 137");
  ParticipantScenario done = over();
  EXPECT_EQ(done.happen(GuardGone{}), "hang up | leave: stopped 137");
}

TEST(GuardGone, KillsTheWorkersAndWaitsForTheirEnd) {
  for (ParticipantScenario scenario : {running_participant(), stopping()}) {
    EXPECT_EQ(scenario.happen(GuardGone{}), "hang up | kill workers");
    EXPECT_EQ(scenario.receive(start_of(1)), "");
    EXPECT_EQ(scenario.happen(AttemptOver{}), "leave: stopped 137");
  }
}

TEST(GuardGone, KillsTheWorkersOfALostLeader) {
  ParticipantScenario scenario = running_participant();
  (void)scenario.happen(LinkDown{"closed the connection"});
  EXPECT_EQ(scenario.happen(GuardGone{}), "hang up | kill workers");
  EXPECT_EQ(scenario.happen(AttemptOver{}), "leave: stopped 137");
}

}  // namespace
}  // namespace muster::gang
