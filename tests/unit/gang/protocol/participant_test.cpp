// Behaviour of one agent from its first dial until it leaves. Signals have a file of their own.
#include "base/result.hpp"
#include "gang/all_parts.hpp"
#include "gang/protocol/participant_story.hpp"

#include <set>

namespace muster::gang {
namespace {

// --- Connecting the leader -------------------------------------------------------------------------

TEST(Participant, DialsAndJoins) {
  ParticipantStory story;
  EXPECT_EQ(story.first_words, "dial");
  (void)story.wait(milliseconds(1'500));

  EXPECT_EQ(story.happen(LinkUp{}), "tell join as node 1");
  EXPECT_EQ(story.state(), Participant::State::Joined);
  EXPECT_EQ(story.join->job.job_id, "llama");
  EXPECT_EQ(story.join->incarnation.size(), 16U);
  EXPECT_DOUBLE_EQ(story.join->waited_seconds, 1.5);
}

TEST(Participant, DoesNotDialAgainWhileADialRuns) {
  ParticipantStory story;
  EXPECT_EQ(story.wait(seconds(100)), "") << "the dialler has its own limit, and tells";
}

TEST(Participant, DialsAgainAndAgainAndSaysOnceWhy) {
  ParticipantStory story;
  (void)story.happen(DialFailed{"connection refused by 10.0.0.1:29500"});
  EXPECT_EQ(story.said.back(),
            "cannot reach the leader yet: connection refused by 10.0.0.1:29500; "
            "trying again for up to 900 s");
  EXPECT_EQ(story.wait(seconds(1)), "dial");
  (void)story.happen(DialFailed{"connection refused by 10.0.0.1:29500"});

  EXPECT_EQ(story.said.size(), 1U);
  (void)story.happen(DialFailed{"the name llm-0 does not resolve"});
  EXPECT_EQ(story.said.size(), 2U);
}

/// The pauses between the dials of one agent whose leader never comes.
std::vector<milliseconds> pauses_of(std::uint64_t seed, int dials) {
  ParticipantStory story(agent_of(seed));
  std::vector<milliseconds> pauses;
  for (int i = 0; i < dials; ++i) {
    const Instant before = story.now();
    (void)story.happen(DialFailed{"connection refused by 10.0.0.1:29500"});
    while (story.dials.back() <= before && pauses.size() < 100) {
      (void)story.wait(milliseconds(1));
    }
    pauses.push_back(std::chrono::duration_cast<milliseconds>(story.dials.back() - before));
  }
  return pauses;
}

TEST(Participant, WaitsLongerBetweenDialsUpToALimit) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto pauses = pauses_of(seed, 30);
    double base = 50;
    for (const milliseconds pause : pauses) {
      EXPECT_GE(static_cast<double>(pause.count()), base / 2 - 2);
      EXPECT_LE(static_cast<double>(pause.count()), base * 1.5 + 2);
      base = std::min(base * 1.5, 1'000.0);
    }
    EXPECT_GE(pauses.back(), milliseconds(500));
    EXPECT_LE(pauses.back(), milliseconds(1'500));
  }
}

TEST(Participant, SpreadsTheDialsOfManyAgents) {
  std::set<milliseconds> tenths;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    tenths.insert(pauses_of(seed, 10).back() / 100);
  }
  EXPECT_GE(tenths.size(), 9U) << "all agents dial within a few tenths of a second";
}

TEST(Participant, DoesNotTryAgainWhereThatCannotHelp) {
  ParticipantStory story;
  EXPECT_EQ(story.happen(DialFailed{"cannot listen on port 80: Permission denied", true}), "leave: failed 71");
}

TEST(Participant, SaysHowTheWaitGoes) {
  ParticipantStory story;
  (void)story.happen(DialFailed{"the name llm-0 does not resolve"});
  (void)story.wait(seconds(30));

  EXPECT_EQ(story.said.back(),
            "waiting for the leader at llm-0:29500 for 30 s: the name llm-0 does not resolve; "
            "giving up in 870 s");
}

TEST(Participant, TimesOutAndReportsTheLastConnectionError) {
  ParticipantStory story;
  (void)story.happen(DialFailed{"connection refused by 10.0.0.1:29500"});
  (void)story.wait(seconds(10));
  (void)story.happen(DialFailed{"no answer from 10.0.0.1:29500 within 10 s"});

  EXPECT_EQ(story.wait(seconds(890)), "dial | leave: incomplete 75");
  EXPECT_EQ(story.end->reason,
            "did not reach the leader at llm-0:29500 within 900 s (3 attempts): "
            "no answer from 10.0.0.1:29500 within 10 s");
  EXPECT_EQ(story.next_wake(), std::nullopt);
}

TEST(Participant, GivesUpAtTheDeadlineEvenWhileADialRuns) {
  ParticipantStory story;
  EXPECT_EQ(story.wait(seconds(900)), "leave: incomplete 75");
  EXPECT_EQ(story.end->reason, "did not reach the leader at llm-0:29500 within 900 s (1 attempt): it has not answered");
}

TEST(Participant, SaysHowTheWaitGoesAlthoughConnectionsAreMadeAndLost) {
  ParticipantStory story;
  for (int i = 0; i < 100; ++i) {
    (void)story.happen(LinkUp{});
    (void)story.happen(LinkDown{"closed the connection"});
    (void)story.wait(seconds(2));
  }
  EXPECT_TRUE(story.has_said("waiting for the leader at llm-0:29500 for ")) << story.said.size();
}

// --- Joined -------------------------------------------------------------------------------------

TEST(Participant, LeavesWhenItIsRefused) {
  ParticipantStory story;
  (void)story.happen(LinkUp{});

  EXPECT_EQ(story.read_signal(Refused{"node rank 1 is taken by host-b (10.0.0.2)", false}),
            "hang up | leave: failed " + std::to_string(static_cast<int>(ErrorKind::BadEnvironment)));
  EXPECT_EQ(story.end->reason,
            "the leader at llm-0:29500 refused this node: "
            "node rank 1 is taken by host-b (10.0.0.2)");
}

TEST(Participant, TriesAgainWhenItMay) {
  ParticipantStory story;
  (void)story.happen(LinkUp{});
  EXPECT_EQ(story.read_signal(Refused{"the leader is not ready", true}), "hang up");
  EXPECT_EQ(story.state(), Participant::State::Connecting);

  EXPECT_EQ(story.wait(seconds(1)), "dial");
  EXPECT_EQ(story.happen(LinkUp{}), "tell join as node 1");
}

TEST(Participant, JoinsAnewWithEachLink) {
  ParticipantStory story;
  std::set<std::string> incarnations;
  for (int i = 0; i < 5; ++i) {
    (void)story.happen(LinkUp{});
    incarnations.insert(story.join->incarnation);
    (void)story.happen(LinkDown{"closed the connection"});
    (void)story.wait(seconds(2));
  }
  EXPECT_EQ(incarnations.size(), 5U) << "a join that was received before is refused";
}

TEST(Participant, LooksForTheLeaderAgainWhenItIsLostBeforeTheStart) {
  ParticipantStory story = joined();
  (void)story.wait(seconds(500));
  EXPECT_EQ(story.happen(LinkDown{"closed the connection"}), "");
  EXPECT_EQ(story.state(), Participant::State::Connecting);
  EXPECT_TRUE(story.has_said("lost the leader before the start: looking for it again"));
  EXPECT_EQ(story.wait(seconds(1)), "dial");

  (void)story.happen(DialFailed{"connection refused by 10.0.0.1:29500"});
  (void)story.wait(seconds(800));
  EXPECT_EQ(story.state(), Participant::State::Connecting) << "the wait begins anew";
  (void)story.wait(seconds(100));
  EXPECT_EQ(words_of(*story.end), "incomplete 75");
}

TEST(Participant, HasOneDeadlineWhereItWasNeverAdmitted) {
  ParticipantStory story;
  for (int i = 0; i < 449 && story.state() != Participant::State::Left; ++i) {
    (void)story.happen(LinkUp{});
    (void)story.happen(LinkDown{"closed the connection"});
    (void)story.wait(seconds(2));
  }
  EXPECT_EQ(story.state(), Participant::State::Connecting);
  (void)story.wait(seconds(2));
  EXPECT_EQ(words_of(*story.end), "incomplete 75");
  EXPECT_NE(story.end->reason.find("the leader at llm-0:29500 closed the connection"), std::string::npos);
}

TEST(Participant, LooksForTheLeaderAgainWhenItIsSilentBeforeTheStart) {
  ParticipantStory story = joined();
  story.leader_answers = false;

  const std::string text = story.wait(seconds(10));
  EXPECT_TRUE(text.starts_with("hang up")) << text;
}

TEST(Participant, IsPatientWithALeaderThatIsBusyAdmittingThousands) {
  ParticipantStory story;
  (void)story.happen(LinkUp{});
  story.leader_answers = false;
  EXPECT_EQ(story.wait(seconds(29)), "");

  EXPECT_TRUE(story.wait(seconds(2)).starts_with("hang up"));
}

TEST(Participant, BeatsFourTimesPerTimeout) {
  ParticipantStory story;
  (void)story.happen(LinkUp{});
  (void)story.read_signal(Admitted{NodeRank{1}, 4});
  (void)story.wait(seconds(20));

  EXPECT_EQ(story.beats.size(), 20U);
  EXPECT_EQ(story.state(), Participant::State::Joined);
}

TEST(Participant, PassesOnHowTheWaitGoes) {
  ParticipantStory story = joined();
  EXPECT_EQ(story.read_signal(Waiting{"3 of 4 nodes are here"}), "");
  EXPECT_EQ(story.said.back(), "3 of 4 nodes are here");
}

TEST(Participant, WaitsAsASpareAndSaysSo) {
  ParticipantStory story;
  (void)story.happen(LinkUp{});
  EXPECT_EQ(story.read_signal(Admitted{std::nullopt, 8}), "");
  EXPECT_EQ(story.said.back(), "this node is a spare: it waits until the job needs it");
  EXPECT_EQ(story.wait(seconds(3'600)), "");
  EXPECT_EQ(story.read_signal(Admitted{NodeRank{3}, 8}), "");

  EXPECT_EQ(story.read_signal(start_of(2)), "start workers of 2");
}

TEST(Participant, LeavesSoonAfterItsLeaderAsASpareOfARunningJob) {
  ParticipantStory story;
  (void)story.happen(LinkUp{});
  (void)story.read_signal(Admitted{std::nullopt, 8});
  (void)story.read_signal(Admitted{std::nullopt, 8, true});
  EXPECT_EQ(story.said.size(), 1U) << "it is a spare as before";

  (void)story.happen(LinkDown{"closed the connection"});
  EXPECT_EQ(story.said.front(), "this node is a spare: it waits until the job needs it");
  EXPECT_EQ(story.wait(seconds(7)).find("leave"), std::string::npos);
  EXPECT_FALSE(story.may_lead) << "a job of its own would succeed in place of the lost one";
  EXPECT_NE(story.wait(seconds(2)).find("leave: lost 69"), std::string::npos);
  EXPECT_EQ(story.end->reason, "the leader at llm-0:29500 was lost: it closed the connection");
}

TEST(Participant, KeepsLookingForItsLeaderAsASpareBeforeTheStart) {
  ParticipantStory story;
  (void)story.happen(LinkUp{});
  (void)story.read_signal(Admitted{std::nullopt, 8});

  (void)story.happen(LinkDown{"closed the connection"});
  EXPECT_EQ(story.wait(seconds(60)).find("leave"), std::string::npos);
  EXPECT_TRUE(story.may_lead);

  (void)story.happen(LinkUp{});
  (void)story.read_signal(Admitted{NodeRank{1}, 8});
  EXPECT_EQ(story.read_signal(start_of(2)), "start workers of 2");
}

TEST(Participant, FindsItsLeaderAgainAsASpare) {
  ParticipantStory story;
  (void)story.happen(LinkUp{});
  (void)story.read_signal(Admitted{std::nullopt, 8});
  (void)story.happen(LinkDown{"closed the connection"});

  (void)story.happen(LinkUp{});
  (void)story.read_signal(Admitted{std::nullopt, 8});

  EXPECT_EQ(story.wait(seconds(3'600)), "");
}

TEST(Participant, LeavesWhenTheJobEndsBeforeItsStart) {
  ParticipantStory story = joined();
  EXPECT_EQ(story.read_signal(Finish{end_of(Verdict::Incomplete, 75)}), "hang up | leave: incomplete 75");
  EXPECT_EQ(story.next_wake(), std::nullopt);
}

TEST(Participant, IgnoresAStopBeforeAnyStart) {
  ParticipantStory story = joined();
  EXPECT_EQ(story.read_signal(Stop{}), "");
  EXPECT_EQ(story.state(), Participant::State::Joined);
}

// --- Attempts -----------------------------------------------------------------------------------

TEST(Participant, SendsTheFirstFailureAndTheEnd) {
  ParticipantStory story = running_participant();
  EXPECT_EQ(story.happen(failure_of(2)), "tell failed 0");
  EXPECT_EQ(story.state(), Participant::State::Stopping);
  EXPECT_EQ(story.happen(failure_of(3)), "") << "the first one of this node";
  EXPECT_EQ(story.read_signal(Stop{0, SIGTERM, "rank 2 failed", std::nullopt}), "stop workers by SIGTERM");
  EXPECT_EQ(story.happen(AttemptOver{0, failure_of(2), true}), "tell ended 0");
  EXPECT_EQ(story.state(), Participant::State::Over);

  EXPECT_EQ(story.read_signal(start_of(1)), "start workers of 1");
}

TEST(Participant, SendsSuccessWithTheNumberOfTheAttempt) {
  ParticipantStory story = over();
  (void)story.read_signal(start_of(1));

  EXPECT_EQ(story.happen(success_of(2, 77)), "tell succeeded 1");
}

TEST(Participant, SendsNoSuccessOfWorkersThatAreBeingStopped) {
  ParticipantStory story = stopping();
  EXPECT_EQ(story.happen(success_of(2)), "");
  EXPECT_EQ(story.happen(failure_of(2)), "");
}

TEST(Participant, IgnoresAStartOfAnOldAttempt) {
  ParticipantStory story = over();
  EXPECT_EQ(story.read_signal(start_of(0)), "");
  (void)story.read_signal(start_of(2));
  (void)story.happen(failure_of(2));
  (void)story.happen(AttemptOver{});
  EXPECT_EQ(story.read_signal(start_of(1)), "");
  EXPECT_EQ(story.read_signal(start_of(2)), "");
  EXPECT_EQ(story.state(), Participant::State::Over);
}

TEST(Participant, IgnoresAStartWhileWorkersAreAlive) {
  ParticipantStory story = running_participant();
  EXPECT_EQ(story.read_signal(start_of(1)), "");
  (void)story.read_signal(Stop{});
  EXPECT_EQ(story.read_signal(start_of(1)), "");
  EXPECT_EQ(story.state(), Participant::State::Stopping);
}

TEST(Participant, IgnoresAStopOfAnotherAttempt) {
  ParticipantStory story = over();
  (void)story.read_signal(start_of(1));
  EXPECT_EQ(story.read_signal(Stop{0, SIGTERM, "old", end_of(Verdict::Failed, 9)}), "");
  EXPECT_EQ(story.read_signal(Stop{2, SIGTERM, "new", std::nullopt}), "");
  EXPECT_EQ(story.state(), Participant::State::Running);

  (void)story.happen(LinkDown{"closed the connection"});
  (void)story.happen(AttemptOver{});
  EXPECT_EQ(words_of(*story.end), "lost 69") << "the end of the old attempt is not the job's";
}

TEST(Participant, LeavesWithTheEndThatTheLeaderSends) {
  ParticipantStory story = over();
  JobEnd end = end_of(Verdict::Failed, 9);
  end.first_failure = failure_of(0);
  EXPECT_EQ(story.read_signal(Finish{end}), "hang up | leave: failed 9");
  EXPECT_EQ(story.end->first_failure->global_rank.value, 0);
}

TEST(Participant, EndsItsWorkersBeforeItLeavesWhateverTheLeaderSays) {
  ParticipantStory story = running_participant();
  EXPECT_EQ(story.read_signal(Finish{end_of(Verdict::Lost, 69)}), "stop workers by SIGTERM");
  (void)story.happen(LinkDown{"closed the connection"});

  EXPECT_EQ(story.happen(AttemptOver{}), "leave: lost 69");
}

TEST(Participant, EndsItsWorkersWhenARunningNodeIsRefused) {
  ParticipantStory story = running_participant();
  EXPECT_EQ(story.read_signal(Refused{"something odd", false}), "hang up | stop workers by SIGTERM");
  EXPECT_EQ(story.happen(AttemptOver{}), "leave: lost 69");
}

// --- The leader is lost -------------------------------------------------------------------------

TEST(Participant, EndsItsWorkersWhenTheLeaderIsLost) {
  ParticipantStory story = running_participant();
  EXPECT_EQ(story.happen(LinkDown{"closed the connection"}), "stop workers by SIGTERM");
  EXPECT_TRUE(story.has_said("the leader at llm-0:29500 was lost: it closed the connection"));
  EXPECT_EQ(story.next_wake(), story.now() + seconds(2)) << "the workers' grace has its own timer";
  EXPECT_EQ(story.wait(seconds(1'000)), "");

  EXPECT_EQ(story.happen(AttemptOver{}), "leave: lost 69");
  EXPECT_EQ(story.end->reason, "the leader at llm-0:29500 was lost: it closed the connection");
}

TEST(Participant, NoticesThatTheLeaderIsSilent) {
  ParticipantStory story = running_participant();
  (void)story.wait(seconds(60));
  EXPECT_EQ(story.state(), Participant::State::Running);
  story.leader_answers = false;
  EXPECT_EQ(story.wait(seconds(7)), "");

  EXPECT_EQ(story.wait(milliseconds(3'100)), "hang up | stop workers by SIGTERM");

  (void)story.happen(AttemptOver{});
  EXPECT_EQ(story.end->reason, "the leader at llm-0:29500 was lost: it was silent for 8 s");
}

TEST(Participant, ReportsItsOwnFailureWhenTheLeaderIsLost) {
  ParticipantStory story = running_participant();
  (void)story.happen(failure_of(2));
  EXPECT_EQ(story.happen(LinkDown{"closed the connection"}), "stop workers by SIGTERM");
  EXPECT_EQ(story.happen(AttemptOver{0, failure_of(2), std::nullopt}), "leave: lost 69");

  ASSERT_TRUE(story.end->first_failure);
  EXPECT_EQ(story.end->first_failure->global_rank.value, 2);
}

TEST(Participant, LeavesAtOnceWhenTheLeaderIsLostBetweenAttempts) {
  ParticipantStory story = over();
  EXPECT_EQ(story.happen(LinkDown{"closed the connection"}), "leave: lost 69");
}

TEST(Participant, ReportsTheEndThatItKnowsWhenTheLeaderIsLost) {
  ParticipantStory story = stopping(end_of(Verdict::Failed, 9));
  EXPECT_EQ(story.happen(LinkDown{"closed the connection"}), "stop workers by SIGTERM");
  EXPECT_EQ(story.happen(AttemptOver{}), "leave: failed 9");
}

TEST(Participant, ReportsTheEndThatItKnowsWhenTheLeaderIsLostAfterwards) {
  ParticipantStory story = over(end_of(Verdict::Succeeded, 0));
  EXPECT_EQ(story.happen(LinkDown{"closed the connection"}), "leave: succeeded 0");
}

TEST(Participant, TakesTheEndOfAnAttemptThatIsOverHere) {
  ParticipantStory story = running_participant();
  (void)story.happen(AttemptOver{});
  EXPECT_EQ(story.read_signal(Stop{0, SIGTERM, "rank 0 failed", end_of(Verdict::Failed, 3)}), "");
  EXPECT_EQ(story.happen(LinkDown{"closed the connection"}), "leave: failed 3");
}

TEST(Participant, CutsTheLeaderOffThatSendsWhatNoLeaderSends) {
  ParticipantStory story = running_participant();
  EXPECT_EQ(story.read_signal(AttemptOver{}), "hang up | stop workers by SIGTERM");
  EXPECT_TRUE(story.has_said("it sent the message 'ended', which no leader sends"));
}

TEST(Participant, IgnoresMessagesOfALinkThatIsDown) {
  ParticipantStory story = running_participant();
  (void)story.happen(LinkDown{"closed the connection"});
  EXPECT_EQ(story.read_signal(start_of(1)), "");
  EXPECT_EQ(story.happen(LinkDown{"closed it again"}), "");
  EXPECT_EQ(story.read_signal(Finish{}), "");
  EXPECT_EQ(story.state(), Participant::State::Stopping);
}

// --- The job goes on without this node ----------------------------------------------------------

TEST(Orphan, HasItsLimitWhenTheLinkIsClosed) {
  ParticipantStory story = running_participant(8);
  EXPECT_EQ(story.happen(LinkDown{"closed the connection"}), "stop workers by SIGTERM within 8000 ms");
}

TEST(Orphan, HasItsLimitFromTheLastAnsweredBeat) {
  ParticipantStory story = running_participant(8);
  (void)story.wait(seconds(20));
  story.leader_answers = false;  // the beat at 20 s was answered
  const std::string text = story.wait(seconds(10));

  EXPECT_TRUE(text.starts_with("hang up | stop workers by SIGTERM within ")) << text;
  const auto limit = std::stoi(text.substr(text.find("within ") + 7));
  EXPECT_GT(limit, 7'000);
  EXPECT_LE(limit, 8'000);
}

TEST(Orphan, HasLessTimeWhereTheLeaderSpokeButDidNotAnswer) {
  ParticipantStory story = running_participant(8);
  story.leader_answers = false;  // what we say does not arrive any more; what it says does
  (void)story.wait(seconds(6));
  (void)story.read_signal(Waiting{"something"});
  const std::string text = story.wait(seconds(8));

  EXPECT_EQ(text, "hang up | stop workers by SIGTERM within 2000 ms")
      << "the leader starts the next attempt 16 s after it heard us";
}

TEST(Orphan, HasNoTimeWhereItNoticesTooLate) {
  ParticipantStory story = running_participant(8);
  story.sleep(seconds(60));
  EXPECT_EQ(story.happen(LinkDown{"closed the connection"}), "stop workers by SIGTERM within 0 ms");
}

TEST(Orphan, GetsNoLeaseWithoutHeartbeatAnswersDespiteOtherMessages) {
  ParticipantStory story = running_participant(8);
  story.leader_answers = false;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(story.wait(seconds(5)), "");
    (void)story.read_signal(Waiting{"something"});
  }

  EXPECT_EQ(story.wait(seconds(1)), "hang up | stop workers by SIGTERM within 0 ms");
  EXPECT_TRUE(story.has_said("it did not answer for 16 s"));
}

TEST(Orphan, StartsNothingWhereTheStartComesTooLate) {
  ParticipantStory story = joined();
  story.sleep(seconds(16));
  EXPECT_EQ(story.read_signal(start_of(0, 8)), "hang up | leave: lost 69");
}

TEST(Orphan, HasLessThanTheGraceThatRunsAlready) {
  ParticipantStory story = stopping(std::nullopt, 8);
  EXPECT_EQ(story.happen(LinkDown{"closed the connection"}), "stop workers by SIGTERM within 8000 ms");
}

TEST(Orphan, HasItsWholeGraceWhereNoOtherAttemptFollows) {
  ParticipantStory story = stopping(end_of(Verdict::Failed, 9), 8);
  EXPECT_EQ(story.happen(LinkDown{"closed the connection"}), "stop workers by SIGTERM");
}

// --- An agent that was asleep -------------------------------------------------------------------

TEST(Participant, DoesNotLoseTheLeaderWhenItWasAsleepItself) {
  ParticipantStory story = running_participant();
  story.sleep(seconds(60));
  EXPECT_EQ(story.wait(seconds(20)), "");
  EXPECT_EQ(story.state(), Participant::State::Running);
}

TEST(Participant, NoticesSilenceSoonAfterItWasAsleep) {
  ParticipantStory story = running_participant();
  story.sleep(seconds(60));
  (void)story.read_signal(Heartbeat{});  // read before the timer is served
  story.leader_answers = false;

  EXPECT_EQ(story.wait(seconds(11)), "hang up | stop workers by SIGTERM");
}

// --- The leader's own agent ---------------------------------------------------------------------

TEST(OwnAgent, SendsNoHeartbeatAndWakesForItsLeaseOnly) {
  ParticipantStory story = leading();
  EXPECT_EQ(story.next_wake(), std::nullopt);
  (void)story.read_signal(start_of(0));
  EXPECT_EQ(story.wait(seconds(1'000)), "");
  EXPECT_EQ(story.beats.size(), 0U);
}

TEST(OwnAgent, LosesNoLeaderHoweverLongTheJobRuns) {
  ParticipantStory story = leading();
  (void)story.wait(seconds(100));
  EXPECT_EQ(story.read_signal(start_of(0, 8)), "start workers of 0");
  EXPECT_EQ(story.wait(seconds(100)), "");
}

TEST(OwnAgent, TriesAgainWhereItsPortIsTaken) {
  ParticipantStory story;
  (void)story.happen(DialFailed{"cannot listen on port 29500: Address already in use"});
  EXPECT_EQ(story.wait(seconds(1)), "dial");
  EXPECT_EQ(story.happen(LinkUp{/*is_own=*/true}), "tell join as node 1");
}

TEST(OwnAgent, LeavesWithTheEndOfTheJob) {
  ParticipantStory story = leading();
  (void)story.read_signal(start_of(0));
  (void)story.happen(last_success_of(1));
  (void)story.read_signal(Stop{0, SIGTERM, "", end_of(Verdict::Succeeded, 0)});
  EXPECT_EQ(story.happen(AttemptOver{}), "tell ended 0");
  EXPECT_EQ(story.read_signal(Finish{end_of(Verdict::Succeeded, 0)}), "hang up | leave: succeeded 0");
}

// --- Inputs -------------------------------------------------------------------------------------

TEST(Participant, JoinsWithWhatItWaitsForAndReportsChanges) {
  GangConfig config = agent_of();
  config.waits_for = "its rank table";
  ParticipantStory story(std::move(config));
  EXPECT_EQ(story.happen(InputsChanged{"its rank table: initializing"}), "") << "nobody listens yet";
  (void)story.happen(LinkUp{});
  EXPECT_EQ(story.join->waits_for, "its rank table: initializing");

  EXPECT_EQ(story.happen(InputsChanged{"its rank table: initializing"}), "");
  EXPECT_EQ(story.happen(InputsChanged{"its rank table: torn"}), "tell preparing: its rank table: torn");
  EXPECT_EQ(story.happen(InputsChanged{}), "tell preparing: ready");
}

TEST(Participant, LetsTheLeaderEndTheJobWhenItWaitedInVain) {
  ParticipantStory story = joined();
  EXPECT_EQ(story.happen(InputsFailed{EndKind::Incomplete, "waited in vain"}), "tell preparing: waited in vain");
  (void)story.happen(LinkDown{"closed the connection"});
  EXPECT_EQ(story.state(), Participant::State::Left) << "it looks for no other leader";
}

TEST(Participant, ReportsATimedOutWaitToALaterLeader) {
  ParticipantStory story;
  EXPECT_EQ(story.happen(InputsFailed{EndKind::BadInput, "the rank table is no JSON object"}), "");
  EXPECT_EQ(story.happen(LinkUp{}), "tell join as node 1 | tell preparing: the rank table is no JSON object");
  EXPECT_EQ(story.join->waits_for, "the rank table is no JSON object") << "it is not ready";
}

TEST(Participant, EndsByItselfWhenItWaitedInVainAndFindsNoLeader) {
  ParticipantStory story;
  (void)story.happen(InputsFailed{EndKind::BadInput, "the rank table is no JSON object"});
  (void)story.wait(seconds(4));
  EXPECT_EQ(story.state(), Participant::State::Connecting) << "the others are to hear of it";
  (void)story.wait(seconds(2));
  EXPECT_EQ(story.state(), Participant::State::Left) << "its leader may have found the same";
}

TEST(Participant, SendsNothingWithoutInputs) {
  ParticipantStory story = joined();
  EXPECT_EQ(story.join->waits_for, "");
  EXPECT_EQ(story.happen(InputsChanged{}), "");
}

TEST(Participant, JoinsAnewAsReadyAsItIs) {
  GangConfig config = agent_of();
  config.waits_for = "its rank table";
  ParticipantStory story = joined(std::move(config));
  (void)story.happen(LinkDown{"closed the connection"});
  (void)story.happen(InputsChanged{});
  (void)story.wait(seconds(2));
  (void)story.happen(LinkUp{});
  EXPECT_EQ(story.join->waits_for, "");
}

TEST(Participant, StartsNoMoreWorkersThanItHasOffered) {
  ParticipantStory story = joined();
  Start start = start_of(0);
  start.placement.slots_here = 1'000'000;
  EXPECT_EQ(story.read_signal(start).find("start workers"), std::string::npos);
  EXPECT_NE(story.state(), Participant::State::Running);
  EXPECT_TRUE(story.has_said("sent a start of 1000000 slots, but this node has offered"));
}

// --- What the nodes bring together --------------------------------------------------------------

Start start_of(int attempt) {
  Start start;
  start.placement.attempt = attempt;
  return start;
}

GangConfig exchanging() {
  GangConfig config = agent_of();
  config.keys = {{"ports", Phase::BeforeStart, 100, 100, all_parts},
                 {"fence", Phase::WhileRunning, 100, 100, all_parts}};
  return config;
}

Merged merged(const std::string& key, int attempt, const std::string& bytes, bool has_round = false) {
  const auto round = has_round ? std::optional(0) : std::nullopt;
  return {split({{key, attempt, round, {}}, bytes}).front()};
}

TEST(Participant, ContributesToEachLeaderThatItJoins) {
  ParticipantStory story(exchanging());
  EXPECT_EQ(story.happen(Contributed{"ports", "5000", {}}), "");
  EXPECT_EQ(story.happen(LinkUp{}), "tell join as node 1 | tell contribute ports for 0: 5000");
  EXPECT_EQ(story.join->contributes, (std::vector<std::string>{"ports"}));
  (void)story.happen(LinkDown{"closed the connection"});
  (void)story.wait(seconds(2));
  EXPECT_EQ(story.happen(LinkUp{}), "tell join as node 1 | tell contribute ports for 0: 5000");
}

TEST(Participant, ContributesLateWhatBelongsToTheStartAndAnewWhatHasChanged) {
  ParticipantStory story = joined(exchanging());
  EXPECT_EQ(story.happen(Contributed{"ports", "5000", {}}), "tell contribute ports for 0: 5000");
  EXPECT_EQ(story.happen(Contributed{"ports", "5000", {}}), "");
  EXPECT_EQ(story.happen(Contributed{"ports", "5001", {}}), "tell contribute ports for 0: 5001");
  (void)story.happen(LinkDown{"closed the connection"});
  (void)story.wait(seconds(2));
  EXPECT_EQ(story.happen(LinkUp{}), "tell join as node 1 | tell contribute ports for 0: 5001");
}

TEST(Participant, StartsWithWhatWasMergedForTheAttempt) {
  ParticipantStory story = joined(exchanging());
  EXPECT_EQ(story.read_signal(merged("ports", 0, "all")), "");
  EXPECT_EQ(story.read_signal(start_of(0)), "start workers of 0");
  EXPECT_EQ(story.merged, (Exchanged{{"ports", "all"}}));
  (void)story.happen(AttemptOver{});
  EXPECT_EQ(story.read_signal(start_of(1)), "start workers of 1");
  EXPECT_TRUE(story.merged.empty()) << "of another attempt";
}

TEST(Participant, ForgetsMergedValuesOfALeaderLostBeforeTheStart) {
  ParticipantStory story = joined(exchanging());
  (void)story.read_signal(merged("ports", 0, "all"));
  (void)story.happen(LinkDown{"closed the connection"});
  (void)story.wait(seconds(2));
  (void)story.happen(LinkUp{});
  (void)story.read_signal(Admitted{NodeRank{1}, 8});

  EXPECT_EQ(story.read_signal(start_of(0)), "start workers of 0");
  EXPECT_TRUE(story.merged.empty());
}

TEST(Participant, ExchangesValuesWhileItsWorkersRun) {
  ParticipantStory story = joined(exchanging());
  EXPECT_EQ(story.happen(Contributed{"fence", "early", {}}), "") << "nothing runs";
  (void)story.read_signal(start_of(0));
  EXPECT_EQ(story.happen(Contributed{"fence", "a", {}}), "tell contribute fence 0 of 0: a");
  EXPECT_EQ(story.happen(Contributed{"fence", "b", {}}), "tell contribute fence 1 of 0: b");
  EXPECT_EQ(story.read_signal(merged("fence", 0, "all", true)), "deliver fence: all");
  EXPECT_EQ(story.read_signal(merged("fence", 1, "all", true)), "") << "of no attempt that runs";
}

TEST(Participant, LeavesALeaderThatSendsAnUnknownMergedValue) {
  ParticipantStory story = joined(exchanging());
  EXPECT_NE(story.read_signal(merged("exec", 0, "all")).find("hang up"), std::string::npos);
}

}  // namespace
}  // namespace muster::gang
