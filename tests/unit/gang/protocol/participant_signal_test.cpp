// Signals from outside and the loss of the guard, in every state of an agent: the first one asks, and INT or QUIT after
// it mean "now".
#include "gang/protocol/participant_story.hpp"

namespace muster::gang {
namespace {

TEST(Signal, EndsTheSearchForTheLeaderAtOnce) {
  ParticipantStory story;
  EXPECT_EQ(story.signal(SIGINT), "leave: stopped 130");
  EXPECT_EQ(story.end->stop_signal, SIGINT);
  EXPECT_EQ(story.happen(LinkUp{}), "") << "the dial was on its way";
}

TEST(Signal, EndsTheWaitForTheStartAtOnceAndInformsTheLeader) {
  ParticipantStory story = joined();
  EXPECT_EQ(story.signal(SIGTERM), "tell stop asked by SIGTERM | hang up | leave: stopped 143");
}

TEST(Signal, ReachesTheWorkersAndTheLeader) {
  ParticipantStory story = running_participant();
  EXPECT_EQ(story.signal(SIGTERM), "pass SIGTERM | tell stop asked by SIGTERM");
  EXPECT_EQ(story.state(), Participant::State::Running) << "the leader decides";
  EXPECT_EQ(story.read_signal(Stop{0, SIGTERM, "", end_of(Verdict::Stopped, 143)}), "stop workers by SIGTERM");
  EXPECT_EQ(story.happen(AttemptOver{}), "tell ended 0");
  EXPECT_EQ(story.read_signal(Finish{end_of(Verdict::Stopped, 143)}), "hang up | leave: stopped 143");
}

TEST(Announcement, TellsThisNodeThatAStallBegins) {
  ParticipantStory story = running_participant();
  EXPECT_EQ(story.happen(Announced{"it hangs", StallBegun{{3}}}), "tell announce: it hangs, for rank 3");
  EXPECT_EQ(story.read_signal(Announce{"it hangs", true, {3}}), "a stall begins: rank 3");
  EXPECT_EQ(story.read_signal(Announce{"it moves"}), "");
}

TEST(Signal, ReachesTheWorkersASecondTime) {
  ParticipantStory story = running_participant();
  (void)story.signal(SIGTERM);
  EXPECT_EQ(story.signal(SIGINT), "pass SIGINT | tell stop asked by SIGINT, now")
      << "the supervisor kills at INT, and the leader tells the other nodes";
}

TEST(Signal, IsNotUrgentWhereASchedulerRepeatsIt) {
  ParticipantStory story = running_participant();
  (void)story.signal(SIGTERM);
  EXPECT_EQ(story.signal(SIGTERM), "pass SIGTERM | tell stop asked by SIGTERM");
  EXPECT_EQ(story.signal(SIGHUP), "pass SIGHUP | tell stop asked by SIGHUP");
}

TEST(Signal, IsLeftToTheLeaderWhereItLimitsTheGrace) {
  ParticipantStory story = running_participant();
  (void)story.signal(SIGTERM);
  EXPECT_EQ(story.happen(StopSignal{SIGTERM, /*workers_know=*/false, std::chrono::milliseconds(0)}),
            "tell stop asked by SIGTERM");
}

TEST(Signal, IsNotUrgentWhereAllNodesGetTheSameOne) {
  ParticipantStory story = running_participant();
  (void)story.read_signal(Stop{0, SIGINT, "", end_of(Verdict::Stopped, 130)});
  EXPECT_EQ(story.signal(SIGINT), "pass SIGINT | tell stop asked by SIGINT") << "as srun sends it";
  EXPECT_EQ(story.signal(SIGINT), "pass SIGINT | tell stop asked by SIGINT, now");
}

TEST(Signal, IsUrgentFromAKeyboardAfterARequestToAnotherNode) {
  ParticipantStory story = running_participant();
  (void)story.read_signal(Stop{0, SIGTERM, "", end_of(Verdict::Stopped, 143)});
  EXPECT_EQ(story.signal(SIGINT), "pass SIGINT | tell stop asked by SIGINT, now");
}

TEST(Signal, IsNotUrgentAtFirstAfterAFailure) {
  ParticipantStory story = running_participant();
  (void)story.read_signal(Stop{0, SIGTERM, "", end_of(Verdict::Failed, 9)});
  EXPECT_EQ(story.signal(SIGINT), "pass SIGINT | tell stop asked by SIGINT");
}

TEST(Signal, IsNotForwardedWhereTheTerminalSentItToTheWorkers) {
  ParticipantStory story = running_participant();
  EXPECT_EQ(story.happen(StopSignal{SIGINT, /*workers_know=*/true}), "tell stop asked by SIGINT");
}

TEST(Signal, ReachesWorkersThatAreBeingEnded) {
  ParticipantStory story = stopping();
  EXPECT_EQ(story.signal(SIGTERM), "pass SIGTERM | tell stop asked by SIGTERM");
  EXPECT_EQ(story.signal(SIGINT), "pass SIGINT | tell stop asked by SIGINT, now");
}

TEST(Signal, KillsTheWorkersWhenAnotherNodeGotItTwice) {
  ParticipantStory story = stopping();
  EXPECT_EQ(story.read_signal(Stop{0, SIGTERM, "", end_of(Verdict::Stopped, 143), /*is_urgent=*/true}), "kill workers");
  EXPECT_EQ(story.happen(AttemptOver{}), "tell ended 0");
}

TEST(Signal, IsTheEndWhenTheLeaderIsLostBeforeItAnswers) {
  ParticipantStory story = running_participant();
  (void)story.signal(SIGTERM);
  (void)story.happen(LinkDown{"closed the connection"});
  EXPECT_EQ(story.happen(AttemptOver{}), "leave: stopped 143");
}

TEST(Signal, ReachesTheWorkersOfALostLeader) {
  ParticipantStory story = running_participant();
  (void)story.happen(LinkDown{"closed the connection"});
  EXPECT_EQ(story.signal(SIGTERM), "pass SIGTERM");
  EXPECT_EQ(story.happen(AttemptOver{}), "leave: lost 69");
}

TEST(Signal, RequestsTheEndFromTheLeaderBetweenAttempts) {
  ParticipantStory story = over();
  EXPECT_EQ(story.signal(SIGTERM), "tell stop asked by SIGTERM");
  EXPECT_EQ(story.read_signal(Finish{end_of(Verdict::Stopped, 143)}), "hang up | leave: stopped 143");
}

TEST(Signal, DoesNotWaitForTheLeaderOnceItMeansNow) {
  ParticipantStory story = over();
  (void)story.signal(SIGTERM);
  EXPECT_EQ(story.signal(SIGTERM), "tell stop asked by SIGTERM") << "workers of other nodes may be saving";
  EXPECT_EQ(story.signal(SIGINT), "tell stop asked by SIGINT, now | hang up | leave: stopped 143")
      << "by the first one";
}

TEST(Signal, EndsTheWaitOfAnAgentThatKnowsTheEnd) {
  ParticipantStory story = over(end_of(Verdict::Failed, 9));
  EXPECT_EQ(story.signal(SIGTERM), "tell stop asked by SIGTERM | hang up | leave: failed 9");
}

TEST(Signal, MeansNowWhereTheFirstOneStoppedTheAttempt) {
  ParticipantStory story = running_participant();
  (void)story.signal(SIGTERM);
  (void)story.happen(AttemptOver{});
  EXPECT_EQ(story.state(), Participant::State::Over);
  EXPECT_EQ(story.signal(SIGINT), "tell stop asked by SIGINT, now | hang up | leave: stopped 143");
}

TEST(Signal, IsNothingToAnAgentThatHasLeft) {
  ParticipantStory story = joined();
  (void)story.signal(SIGTERM);
  EXPECT_EQ(story.signal(SIGTERM), "");
  EXPECT_EQ(story.happen(GuardGone{}), "");
  EXPECT_EQ(story.happen(Wake{}), "");
}

TEST(SignalAtTheLeader, IsAnsweredByTheLeaderBeforeTheStart) {
  ParticipantStory story = leading();
  EXPECT_EQ(story.signal(SIGTERM), "tell stop asked by SIGTERM") << "the others are told first";
  EXPECT_EQ(story.read_signal(Finish{end_of(Verdict::Stopped, 143)}), "hang up | leave: stopped 143");
}

TEST(SignalAtTheLeader, LeavesTheOthersAtTheThirdOne) {
  ParticipantStory story = leading();
  EXPECT_EQ(story.signal(SIGINT), "tell stop asked by SIGINT");
  EXPECT_EQ(story.signal(SIGINT), "tell stop asked by SIGINT, now") << "they are told first";
  EXPECT_EQ(story.signal(SIGINT), "tell stop asked by SIGINT, now | hang up | leave: stopped 130");
}

TEST(SignalAtTheLeader, WaitsForTheOthersHoweverOftenASchedulerAsks) {
  ParticipantStory story = leading();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(story.signal(SIGTERM), "tell stop asked by SIGTERM");
  }
}

TEST(SignalAtTheLeader, WaitsForTheOthersAlthoughTheEndIsKnown) {
  ParticipantStory story = leading();
  (void)story.read_signal(start_of(0));
  (void)story.read_signal(Stop{0, SIGTERM, "", end_of(Verdict::Failed, 9)});
  (void)story.happen(AttemptOver{});
  EXPECT_EQ(story.signal(SIGTERM), "tell stop asked by SIGTERM");
  EXPECT_EQ(story.read_signal(Finish{end_of(Verdict::Failed, 9)}), "hang up | leave: failed 9");
}

// --- The guard ----------------------------------------------------------------------------------

TEST(GuardGone, EndsAnAgentWithoutWorkersAtOnce) {
  ParticipantStory seeking;
  EXPECT_EQ(seeking.happen(GuardGone{}), "hang up | leave: stopped 137");
  ParticipantStory waiting = joined();
  EXPECT_EQ(waiting.happen(GuardGone{}), "hang up | leave: stopped 137");
  ParticipantStory done = over();
  EXPECT_EQ(done.happen(GuardGone{}), "hang up | leave: stopped 137");
}

TEST(GuardGone, KillsTheWorkersAndWaitsForTheirEnd) {
  for (ParticipantStory story : {running_participant(), stopping()}) {
    EXPECT_EQ(story.happen(GuardGone{}), "hang up | kill workers");
    EXPECT_EQ(story.read_signal(start_of(1)), "");
    EXPECT_EQ(story.happen(AttemptOver{}), "leave: stopped 137");
  }
}

TEST(GuardGone, KillsTheWorkersOfALostLeader) {
  ParticipantStory story = running_participant();
  (void)story.happen(LinkDown{"closed the connection"});
  EXPECT_EQ(story.happen(GuardGone{}), "hang up | kill workers");
  EXPECT_EQ(story.happen(AttemptOver{}), "leave: stopped 137");
}

}  // namespace
}  // namespace muster::gang
