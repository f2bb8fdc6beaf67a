// Behaviour of one agent from its first dial until it leaves. Signals have a file of their own.
#include "base/result.hpp"
#include "gang/all_parts.hpp"
#include "gang/protocol/participant_scenario.hpp"

#include <set>

namespace muster::gang {
namespace {

// --- Connecting the leader -------------------------------------------------------------------------

TEST(Participant, DialsAndJoins) {
  ParticipantScenario scenario;
  EXPECT_EQ(scenario.first_words, "dial");
  (void)scenario.wait(milliseconds(1'500));

  EXPECT_EQ(scenario.happen(LinkUp{}), "tell join as node 1");
  EXPECT_EQ(scenario.state(), Participant::State::Joined);
  EXPECT_EQ(scenario.join->job.job_id, "llama");
  EXPECT_EQ(scenario.join->incarnation.size(), 16U);
  EXPECT_DOUBLE_EQ(scenario.join->waited_seconds, 1.5);
}

TEST(Participant, DoesNotDialAgainWhileADialRuns) {
  ParticipantScenario scenario;
  EXPECT_EQ(scenario.wait(seconds(100)), "") << "the dialler has its own limit, and tells";
}

TEST(Participant, DialsAgainAndAgainAndSaysOnceWhy) {
  ParticipantScenario scenario;
  (void)scenario.happen(DialFailed{"connection refused by 10.0.0.1:29500"});
  EXPECT_EQ(scenario.said.back(),
            "cannot reach the leader yet: connection refused by 10.0.0.1:29500; "
            "trying again for up to 900 s");
  EXPECT_EQ(scenario.wait(seconds(1)), "dial");
  (void)scenario.happen(DialFailed{"connection refused by 10.0.0.1:29500"});

  EXPECT_EQ(scenario.said.size(), 1U);
  (void)scenario.happen(DialFailed{"the name llm-0 does not resolve"});
  EXPECT_EQ(scenario.said.size(), 2U);
}

TEST(ConnectRetry, ShowsANewReasonOnce) {
  Instant now{std::chrono::hours(1'000)};
  ConnectRetry retry("llm-0:29500", 1, seconds(900), now);
  std::vector<std::string> shown;
  const auto fail = [&](const std::string& why) {
    const auto line = retry.on_failure(DialFailed{why}, now);
    if (line && line->level == Level::Info) {
      shown.push_back(line->text);
    }
    now += milliseconds(1'500);
  };
  fail("connection refused by 10.0.0.1:29500");
  fail("it has a token");
  EXPECT_EQ(shown.size(), 1U) << "too soon after the first line";
  for (int i = 0; i < 10; ++i) {
    fail("it has a token");
    fail("connection refused by 10.0.0.1:29500");
  }
  EXPECT_EQ(shown, (std::vector<std::string>{"cannot reach the leader yet: connection refused by 10.0.0.1:29500; "
                                             "trying again for up to 900 s",
                                             "cannot reach the leader yet: it has a token"}));
  for (int i = 0; i < 100; ++i) {
    fail("reason " + std::to_string(i));
  }
  EXPECT_EQ(shown.size(), 8U);
}

/// The pauses between the dials of one agent whose leader never comes.
std::vector<milliseconds> pauses_of(std::uint64_t seed, int dials) {
  ParticipantScenario scenario(agent_of(seed));
  std::vector<milliseconds> pauses;
  for (int i = 0; i < dials; ++i) {
    const Instant before = scenario.now();
    (void)scenario.happen(DialFailed{"connection refused by 10.0.0.1:29500"});
    while (scenario.dials.back() <= before && pauses.size() < 100) {
      (void)scenario.wait(milliseconds(1));
    }
    pauses.push_back(std::chrono::duration_cast<milliseconds>(scenario.dials.back() - before));
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
  ParticipantScenario scenario;
  EXPECT_EQ(scenario.happen(DialFailed{"cannot listen on port 80: Permission denied", EndKind::SystemRefused}),
            "leave: failed 71");
}

TEST(Participant, SaysHowTheWaitGoes) {
  ParticipantScenario scenario;
  (void)scenario.happen(DialFailed{"the name llm-0 does not resolve"});
  (void)scenario.wait(seconds(30));

  EXPECT_EQ(scenario.said.back(),
            "waiting for the leader at llm-0:29500 for 30 s: the name llm-0 does not resolve; "
            "giving up in 870 s");
}

TEST(Participant, TimesOutAndReportsTheLastConnectionError) {
  ParticipantScenario scenario;
  (void)scenario.happen(DialFailed{"connection refused by 10.0.0.1:29500"});
  (void)scenario.wait(seconds(10));
  (void)scenario.happen(DialFailed{"no answer from 10.0.0.1:29500 within 10 s"});

  EXPECT_EQ(scenario.wait(seconds(890)), "dial | leave: incomplete 75");
  EXPECT_EQ(scenario.end->reason,
            "did not reach the leader at llm-0:29500 within 900 s (3 attempts): "
            "no answer from 10.0.0.1:29500 within 10 s");
  EXPECT_EQ(scenario.next_wake(), std::nullopt);
}

TEST(Participant, AdvisesToCompareTokens) {
  ParticipantScenario scenario;
  (void)scenario.happen(DialFailed{"the leader at 10.0.0.1:29500 has another token"});
  (void)scenario.wait(seconds(900));

  EXPECT_TRUE(scenario.end->reason.ends_with(
      "has another token; compare the tokens of the nodes (--token-file, MUSTER_TOKEN)"));
}

TEST(Participant, GivesUpAtTheDeadlineEvenWhileADialRuns) {
  ParticipantScenario scenario;
  EXPECT_EQ(scenario.wait(seconds(900)), "leave: incomplete 75");
  EXPECT_EQ(scenario.end->reason,
            "did not reach the leader at llm-0:29500 within 900 s (1 attempt): it has not answered");
}

TEST(Participant, SaysHowTheWaitGoesAlthoughConnectionsAreMadeAndLost) {
  ParticipantScenario scenario;
  for (int i = 0; i < 100; ++i) {
    (void)scenario.happen(LinkUp{});
    (void)scenario.happen(LinkDown{"closed the connection"});
    (void)scenario.wait(seconds(2));
  }
  EXPECT_TRUE(scenario.has_said("waiting for the leader at llm-0:29500 for ")) << scenario.said.size();
}

// --- Joined -------------------------------------------------------------------------------------

TEST(Participant, LeavesWhenItIsRefused) {
  ParticipantScenario scenario;
  (void)scenario.happen(LinkUp{});

  EXPECT_EQ(scenario.receive(Refused{"node rank 1 is taken by host-b (10.0.0.2)", false}),
            "hang up | leave: failed " + std::to_string(static_cast<int>(ErrorKind::BadEnvironment)));
  EXPECT_EQ(scenario.end->reason,
            "the leader at llm-0:29500 refused this node: "
            "node rank 1 is taken by host-b (10.0.0.2)");
}

TEST(Participant, TriesAgainWhenItMay) {
  ParticipantScenario scenario;
  (void)scenario.happen(LinkUp{});
  EXPECT_EQ(scenario.receive(Refused{"the leader is not ready", true}), "hang up");
  EXPECT_EQ(scenario.state(), Participant::State::Connecting);

  EXPECT_EQ(scenario.wait(seconds(1)), "dial");
  EXPECT_EQ(scenario.happen(LinkUp{}), "tell join as node 1");
}

TEST(Participant, JoinsAnewWithEachLink) {
  ParticipantScenario scenario;
  std::set<std::string> incarnations;
  for (int i = 0; i < 5; ++i) {
    (void)scenario.happen(LinkUp{});
    incarnations.insert(scenario.join->incarnation);
    (void)scenario.happen(LinkDown{"closed the connection"});
    (void)scenario.wait(seconds(2));
  }
  EXPECT_EQ(incarnations.size(), 5U) << "a join that was received before is refused";
}

TEST(Participant, LooksForTheLeaderAgainWhenItIsLostBeforeTheStart) {
  ParticipantScenario scenario = joined();
  (void)scenario.wait(seconds(500));
  EXPECT_EQ(scenario.happen(LinkDown{"closed the connection"}), "");
  EXPECT_EQ(scenario.state(), Participant::State::Connecting);
  EXPECT_TRUE(scenario.has_said("lost the leader before the start: looking for it again"));
  EXPECT_EQ(scenario.wait(seconds(1)), "dial");

  (void)scenario.happen(DialFailed{"connection refused by 10.0.0.1:29500"});
  (void)scenario.wait(seconds(800));
  EXPECT_EQ(scenario.state(), Participant::State::Connecting) << "the wait begins anew";
  (void)scenario.wait(seconds(100));
  EXPECT_EQ(words_of(*scenario.end), "incomplete 75");
}

TEST(Participant, HasOneDeadlineWhereItWasNeverAdmitted) {
  ParticipantScenario scenario;
  for (int i = 0; i < 449 && scenario.state() != Participant::State::Left; ++i) {
    (void)scenario.happen(LinkUp{});
    (void)scenario.happen(LinkDown{"closed the connection"});
    (void)scenario.wait(seconds(2));
  }
  EXPECT_EQ(scenario.state(), Participant::State::Connecting);
  (void)scenario.wait(seconds(2));
  EXPECT_EQ(words_of(*scenario.end), "incomplete 75");
  EXPECT_NE(scenario.end->reason.find("the leader at llm-0:29500 closed the connection"), std::string::npos);
}

TEST(Participant, LooksForTheLeaderAgainWhenItIsSilentBeforeTheStart) {
  ParticipantScenario scenario = joined();
  scenario.leader_answers = false;

  const std::string text = scenario.wait(seconds(10));
  EXPECT_TRUE(text.starts_with("hang up")) << text;
}

TEST(Participant, IsPatientWithALeaderThatIsBusyAdmittingThousands) {
  ParticipantScenario scenario;
  (void)scenario.happen(LinkUp{});
  scenario.leader_answers = false;
  EXPECT_EQ(scenario.wait(seconds(29)), "");

  EXPECT_TRUE(scenario.wait(seconds(2)).starts_with("hang up"));
}

TEST(Participant, BeatsThreeTimesPerTimeout) {
  ParticipantScenario scenario;
  (void)scenario.happen(LinkUp{});
  (void)scenario.receive(Admitted{NodeRank{1}, 4});
  (void)scenario.wait(seconds(20));

  EXPECT_EQ(scenario.beats.size(), 16U) << "every 1.25 s";
  EXPECT_EQ(scenario.state(), Participant::State::Joined);
}

TEST(Participant, PassesOnHowTheWaitGoes) {
  ParticipantScenario scenario = joined();
  EXPECT_EQ(scenario.receive(Waiting{"3 of 4 nodes are here"}), "");
  EXPECT_EQ(scenario.said.back(), "3 of 4 nodes are here");
}

TEST(Participant, WaitsAsASpareAndSaysSo) {
  ParticipantScenario scenario;
  (void)scenario.happen(LinkUp{});
  EXPECT_EQ(scenario.receive(Admitted{std::nullopt, 8}), "");
  EXPECT_EQ(scenario.said.back(), "this node is a spare: it waits until the job needs it");
  EXPECT_EQ(scenario.wait(seconds(3'600)), "");
  EXPECT_EQ(scenario.receive(Admitted{NodeRank{3}, 8}), "");

  EXPECT_EQ(scenario.receive(start_of(2)), "start workers of 2");
}

TEST(Participant, LeavesSoonAfterItsLeaderAsASpareOfARunningJob) {
  ParticipantScenario scenario;
  (void)scenario.happen(LinkUp{});
  (void)scenario.receive(Admitted{std::nullopt, 8});
  (void)scenario.receive(Admitted{std::nullopt, 8, true});
  EXPECT_EQ(scenario.said.size(), 1U) << "it is a spare as before";

  (void)scenario.happen(LinkDown{"closed the connection"});
  EXPECT_EQ(scenario.said.front(), "this node is a spare: it waits until the job needs it");
  EXPECT_EQ(scenario.wait(seconds(7)).find("leave"), std::string::npos);
  EXPECT_FALSE(scenario.may_lead) << "a job of its own would succeed in place of the lost one";
  EXPECT_NE(scenario.wait(seconds(2)).find("leave: lost 69"), std::string::npos);
  EXPECT_EQ(scenario.end->reason, "the leader at llm-0:29500 was lost: it closed the connection");
}

TEST(Participant, KeepsLookingForItsLeaderAsASpareBeforeTheStart) {
  ParticipantScenario scenario;
  (void)scenario.happen(LinkUp{});
  (void)scenario.receive(Admitted{std::nullopt, 8});

  (void)scenario.happen(LinkDown{"closed the connection"});
  EXPECT_EQ(scenario.wait(seconds(60)).find("leave"), std::string::npos);
  EXPECT_TRUE(scenario.may_lead);

  (void)scenario.happen(LinkUp{});
  (void)scenario.receive(Admitted{NodeRank{1}, 8});
  EXPECT_EQ(scenario.receive(start_of(2)), "start workers of 2");
}

TEST(Participant, FindsItsLeaderAgainAsASpare) {
  ParticipantScenario scenario;
  (void)scenario.happen(LinkUp{});
  (void)scenario.receive(Admitted{std::nullopt, 8});
  (void)scenario.happen(LinkDown{"closed the connection"});

  (void)scenario.happen(LinkUp{});
  (void)scenario.receive(Admitted{std::nullopt, 8});

  EXPECT_EQ(scenario.wait(seconds(3'600)), "");
}

TEST(Participant, LeavesWhenTheJobEndsBeforeItsStart) {
  ParticipantScenario scenario = joined();
  EXPECT_EQ(scenario.receive(Finish{end_of(Verdict::Incomplete, 75)}), "hang up | leave: incomplete 75");
  EXPECT_EQ(scenario.next_wake(), std::nullopt);
}

TEST(Participant, IgnoresAStopBeforeAnyStart) {
  ParticipantScenario scenario = joined();
  EXPECT_EQ(scenario.receive(Stop{}), "");
  EXPECT_EQ(scenario.state(), Participant::State::Joined);
}

// --- Attempts -----------------------------------------------------------------------------------

TEST(Participant, SendsTheFirstFailureAndTheEnd) {
  ParticipantScenario scenario = running_participant();
  EXPECT_EQ(scenario.happen(failure_of(2)), "tell failed 0");
  EXPECT_EQ(scenario.state(), Participant::State::Stopping);
  EXPECT_EQ(scenario.happen(failure_of(3)), "") << "the first one of this node";
  EXPECT_EQ(scenario.receive(Stop{0, SIGTERM, "rank 2 failed", std::nullopt}), "stop workers by SIGTERM");
  EXPECT_EQ(scenario.happen(AttemptOver{0, failure_of(2), true}), "tell ended 0");
  EXPECT_EQ(scenario.state(), Participant::State::Over);

  EXPECT_EQ(scenario.receive(start_of(1)), "start workers of 1");
}

TEST(Participant, SendsSuccessWithTheNumberOfTheAttempt) {
  ParticipantScenario scenario = over();
  (void)scenario.receive(start_of(1));

  EXPECT_EQ(scenario.happen(success_of(2, 77)), "tell succeeded 1");
}

TEST(Participant, ReportsAHangAlsoWhenItsOwnWorkersHaveEnded) {
  ParticipantScenario scenario = running_participant();
  EXPECT_EQ(scenario.happen(Hung{0, "rank 3 is asleep", {3}}), "tell hung: rank 3 is asleep");
  (void)scenario.happen(AttemptOver{});
  EXPECT_EQ(scenario.happen(Hung{0, "rank 3 is asleep", {3}}), "tell hung: rank 3 is asleep");

  ParticipantScenario is_stopping = stopping();
  EXPECT_EQ(is_stopping.happen(Hung{0, "rank 3 is asleep", {3}}), "") << "the attempt ends anyway";
}

TEST(Participant, SendsNoSuccessOfWorkersThatAreBeingStopped) {
  ParticipantScenario scenario = stopping();
  EXPECT_EQ(scenario.happen(success_of(2)), "");
  EXPECT_EQ(scenario.happen(failure_of(2)), "");
}

TEST(Participant, IgnoresAStartOfAnOldAttempt) {
  ParticipantScenario scenario = over();
  EXPECT_EQ(scenario.receive(start_of(0)), "");
  (void)scenario.receive(start_of(2));
  (void)scenario.happen(failure_of(2));
  (void)scenario.happen(AttemptOver{});
  EXPECT_EQ(scenario.receive(start_of(1)), "");
  EXPECT_EQ(scenario.receive(start_of(2)), "");
  EXPECT_EQ(scenario.state(), Participant::State::Over);
}

TEST(Participant, IgnoresAStartWhileWorkersAreAlive) {
  ParticipantScenario scenario = running_participant();
  EXPECT_EQ(scenario.receive(start_of(1)), "");
  (void)scenario.receive(Stop{});
  EXPECT_EQ(scenario.receive(start_of(1)), "");
  EXPECT_EQ(scenario.state(), Participant::State::Stopping);
}

TEST(Participant, IgnoresAStopOfAnotherAttempt) {
  ParticipantScenario scenario = over();
  (void)scenario.receive(start_of(1));
  EXPECT_EQ(scenario.receive(Stop{0, SIGTERM, "old", end_of(Verdict::Failed, 9)}), "");
  EXPECT_EQ(scenario.receive(Stop{2, SIGTERM, "new", std::nullopt}), "");
  EXPECT_EQ(scenario.state(), Participant::State::Running);

  (void)scenario.happen(LinkDown{"closed the connection"});
  (void)scenario.happen(AttemptOver{});
  EXPECT_EQ(words_of(*scenario.end), "lost 69") << "the end of the old attempt is not the job's";
}

TEST(Participant, LeavesWithTheEndThatTheLeaderSends) {
  ParticipantScenario scenario = over();
  JobEnd end = end_of(Verdict::Failed, 9);
  end.first_failure = failure_of(0);
  EXPECT_EQ(scenario.receive(Finish{end}), "hang up | leave: failed 9");
  EXPECT_EQ(scenario.end->first_failure->global_rank.value, 0);
}

TEST(Participant, EndsItsWorkersBeforeItLeavesWhateverTheLeaderSays) {
  ParticipantScenario scenario = running_participant();
  EXPECT_EQ(scenario.receive(Finish{end_of(Verdict::Lost, 69)}), "stop workers by SIGTERM");
  (void)scenario.happen(LinkDown{"closed the connection"});

  EXPECT_EQ(scenario.happen(AttemptOver{}), "leave: lost 69");
}

TEST(Participant, EndsItsWorkersWhenARunningNodeIsRefused) {
  ParticipantScenario scenario = running_participant();
  EXPECT_EQ(scenario.receive(Refused{"something odd", false}), "hang up | stop workers by SIGTERM");
  EXPECT_EQ(scenario.happen(AttemptOver{}), "leave: lost 69");
}

// --- The leader is lost -------------------------------------------------------------------------

TEST(Participant, EndsItsWorkersWhenTheLeaderIsLost) {
  ParticipantScenario scenario = running_participant();
  EXPECT_EQ(scenario.happen(LinkDown{"closed the connection"}), "stop workers by SIGTERM");
  EXPECT_TRUE(scenario.has_said("the leader at llm-0:29500 was lost: it closed the connection"));
  EXPECT_EQ(scenario.next_wake(), scenario.now() + milliseconds(2'750)) << "the workers' grace has its own timer";
  EXPECT_EQ(scenario.wait(seconds(1'000)), "");

  EXPECT_EQ(scenario.happen(AttemptOver{}), "leave: lost 69");
  EXPECT_EQ(scenario.end->reason, "the leader at llm-0:29500 was lost: it closed the connection");
}

TEST(Participant, NoticesThatTheLeaderIsSilent) {
  ParticipantScenario scenario = running_participant();
  (void)scenario.wait(seconds(60));
  EXPECT_EQ(scenario.state(), Participant::State::Running);
  scenario.leader_answers = false;
  EXPECT_EQ(scenario.wait(seconds(7)), "");

  EXPECT_EQ(scenario.wait(milliseconds(3'100)), "hang up | stop workers by SIGTERM");

  (void)scenario.happen(AttemptOver{});
  EXPECT_EQ(scenario.end->reason, "the leader at llm-0:29500 was lost: it was silent for 8 s");
}

TEST(Participant, ReportsItsOwnFailureWhenTheLeaderIsLost) {
  ParticipantScenario scenario = running_participant();
  (void)scenario.happen(failure_of(2));
  EXPECT_EQ(scenario.happen(LinkDown{"closed the connection"}), "stop workers by SIGTERM");
  EXPECT_EQ(scenario.happen(AttemptOver{0, failure_of(2), std::nullopt}), "leave: lost 69");

  ASSERT_TRUE(scenario.end->first_failure);
  EXPECT_EQ(scenario.end->first_failure->global_rank.value, 2);
}

TEST(Participant, LeavesAtOnceWhenTheLeaderIsLostBetweenAttempts) {
  ParticipantScenario scenario = over();
  EXPECT_EQ(scenario.happen(LinkDown{"closed the connection"}), "leave: lost 69");
}

TEST(Participant, ReportsTheEndThatItKnowsWhenTheLeaderIsLost) {
  ParticipantScenario scenario = stopping(end_of(Verdict::Failed, 9));
  EXPECT_EQ(scenario.happen(LinkDown{"closed the connection"}), "stop workers by SIGTERM");
  EXPECT_EQ(scenario.happen(AttemptOver{}), "leave: failed 9");
}

TEST(Participant, ReportsTheEndThatItKnowsWhenTheLeaderIsLostAfterwards) {
  ParticipantScenario scenario = over(end_of(Verdict::Succeeded, 0));
  EXPECT_EQ(scenario.happen(LinkDown{"closed the connection"}), "leave: succeeded 0");
}

TEST(Participant, TakesTheEndOfAnAttemptThatIsOverHere) {
  ParticipantScenario scenario = running_participant();
  (void)scenario.happen(AttemptOver{});
  EXPECT_EQ(scenario.receive(Stop{0, SIGTERM, "rank 0 failed", end_of(Verdict::Failed, 3)}), "");
  EXPECT_EQ(scenario.happen(LinkDown{"closed the connection"}), "leave: failed 3");
}

TEST(Participant, CutsTheLeaderOffThatSendsWhatNoLeaderSends) {
  ParticipantScenario scenario = running_participant();
  EXPECT_EQ(scenario.receive(AttemptOver{}), "hang up | stop workers by SIGTERM");
  EXPECT_TRUE(scenario.has_said("it sent the message 'ended', which no leader sends"));
}

TEST(Participant, IgnoresMessagesOfALinkThatIsDown) {
  ParticipantScenario scenario = running_participant();
  (void)scenario.happen(LinkDown{"closed the connection"});
  EXPECT_EQ(scenario.receive(start_of(1)), "");
  EXPECT_EQ(scenario.happen(LinkDown{"closed it again"}), "");
  EXPECT_EQ(scenario.receive(Finish{}), "");
  EXPECT_EQ(scenario.state(), Participant::State::Stopping);
}

// --- The job goes on without this node ----------------------------------------------------------

TEST(Orphan, HasItsLimitWhenTheLinkIsClosed) {
  ParticipantScenario scenario = running_participant(8);
  EXPECT_EQ(scenario.happen(LinkDown{"closed the connection"}), "stop workers by SIGTERM within 8000 ms");
}

TEST(Orphan, HasItsLimitFromTheLastAnsweredBeat) {
  ParticipantScenario scenario = running_participant(8);
  (void)scenario.wait(seconds(20));
  scenario.leader_answers = false;  // the beat at 20 s was answered
  const std::string text = scenario.wait(seconds(10));

  EXPECT_TRUE(text.starts_with("hang up | stop workers by SIGTERM within ")) << text;
  const auto limit = std::stoi(text.substr(text.find("within ") + 7));
  EXPECT_GT(limit, 7'000);
  EXPECT_LE(limit, 8'000);
}

TEST(Orphan, HasLessTimeWhereTheLeaderSpokeButDidNotAnswer) {
  ParticipantScenario scenario = running_participant(8);
  scenario.leader_answers = false;  // what we say does not arrive any more; what it says does
  (void)scenario.wait(seconds(6));
  (void)scenario.receive(Waiting{"something"});
  const std::string text = scenario.wait(seconds(8));

  EXPECT_EQ(text, "hang up | stop workers by SIGTERM within 2000 ms")
      << "the leader starts the next attempt 16 s after it heard us";
}

TEST(Orphan, HasNoTimeWhereItNoticesTooLate) {
  ParticipantScenario scenario = running_participant(8);
  scenario.sleep(seconds(60));
  EXPECT_EQ(scenario.happen(LinkDown{"closed the connection"}), "stop workers by SIGTERM within 0 ms");
}

TEST(Orphan, GetsNoLeaseWithoutHeartbeatAnswersDespiteOtherMessages) {
  ParticipantScenario scenario = running_participant(8);
  scenario.leader_answers = false;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(scenario.wait(seconds(5)), "");
    (void)scenario.receive(Waiting{"something"});
  }

  EXPECT_EQ(scenario.wait(seconds(1)), "hang up | stop workers by SIGTERM within 0 ms");
  EXPECT_TRUE(scenario.has_said("it did not answer for 16 s"));
}

TEST(Orphan, StartsNothingWhereTheStartComesTooLate) {
  ParticipantScenario scenario = joined();
  scenario.sleep(seconds(16));
  EXPECT_EQ(scenario.receive(start_of(0, 8)), "hang up | leave: lost 69");
}

TEST(Orphan, HasLessThanTheGraceThatRunsAlready) {
  ParticipantScenario scenario = stopping(std::nullopt, 8);
  EXPECT_EQ(scenario.happen(LinkDown{"closed the connection"}), "stop workers by SIGTERM within 8000 ms");
}

TEST(Orphan, HasItsWholeGraceWhereNoOtherAttemptFollows) {
  ParticipantScenario scenario = stopping(end_of(Verdict::Failed, 9), 8);
  EXPECT_EQ(scenario.happen(LinkDown{"closed the connection"}), "stop workers by SIGTERM");
}

// --- An agent that was asleep -------------------------------------------------------------------

TEST(Participant, DoesNotLoseTheLeaderWhenItWasAsleepItself) {
  ParticipantScenario scenario = running_participant();
  scenario.sleep(seconds(60));
  EXPECT_EQ(scenario.wait(seconds(20)), "");
  EXPECT_EQ(scenario.state(), Participant::State::Running);
}

TEST(Participant, NoticesSilenceSoonAfterItWasAsleep) {
  ParticipantScenario scenario = running_participant();
  scenario.sleep(seconds(60));
  (void)scenario.receive(Heartbeat{});  // read before the timer is served
  scenario.leader_answers = false;

  EXPECT_EQ(scenario.wait(seconds(11)), "hang up | stop workers by SIGTERM");
}

// --- The leader's own agent ---------------------------------------------------------------------

TEST(OwnAgent, SendsNoHeartbeatAndWakesForItsLeaseOnly) {
  ParticipantScenario scenario = leading();
  EXPECT_EQ(scenario.next_wake(), std::nullopt);
  (void)scenario.receive(start_of(0));
  EXPECT_EQ(scenario.wait(seconds(1'000)), "");
  EXPECT_EQ(scenario.beats.size(), 0U);
}

TEST(OwnAgent, LosesNoLeaderHoweverLongTheJobRuns) {
  ParticipantScenario scenario = leading();
  (void)scenario.wait(seconds(100));
  EXPECT_EQ(scenario.receive(start_of(0, 8)), "start workers of 0");
  EXPECT_EQ(scenario.wait(seconds(100)), "");
}

TEST(OwnAgent, TriesAgainWhereItsPortIsTaken) {
  ParticipantScenario scenario;
  (void)scenario.happen(DialFailed{"cannot listen on port 29500: Address already in use"});
  EXPECT_EQ(scenario.wait(seconds(1)), "dial");
  EXPECT_EQ(scenario.happen(LinkUp{/*is_own=*/true}), "tell join as node 1");
}

TEST(OwnAgent, LeavesWithTheEndOfTheJob) {
  ParticipantScenario scenario = leading();
  (void)scenario.receive(start_of(0));
  (void)scenario.happen(last_success_of(1));
  (void)scenario.receive(Stop{0, SIGTERM, "", end_of(Verdict::Succeeded, 0)});
  EXPECT_EQ(scenario.happen(AttemptOver{}), "tell ended 0");
  EXPECT_EQ(scenario.receive(Finish{end_of(Verdict::Succeeded, 0)}), "hang up | leave: succeeded 0");
}

// --- Inputs -------------------------------------------------------------------------------------

TEST(Participant, JoinsWithWhatItWaitsForAndReportsChanges) {
  GangConfig config = agent_of();
  config.waits_for = "its rank table";
  ParticipantScenario scenario(std::move(config));
  EXPECT_EQ(scenario.happen(InputsChanged{"its rank table: initializing"}), "") << "nobody listens yet";
  (void)scenario.happen(LinkUp{});
  EXPECT_EQ(scenario.join->waits_for, "its rank table: initializing");

  EXPECT_EQ(scenario.happen(InputsChanged{"its rank table: initializing"}), "");
  EXPECT_EQ(scenario.happen(InputsChanged{"its rank table: torn"}), "tell preparing: its rank table: torn");
  EXPECT_EQ(scenario.happen(InputsChanged{}), "tell preparing: ready");
}

TEST(Participant, LetsTheLeaderEndTheJobWhenItWaitedInVain) {
  ParticipantScenario scenario = joined();
  EXPECT_EQ(scenario.happen(InputsFailed{EndKind::Incomplete, "waited in vain"}), "tell preparing: waited in vain");
  (void)scenario.happen(LinkDown{"closed the connection"});
  EXPECT_EQ(scenario.state(), Participant::State::Left) << "it looks for no other leader";
}

TEST(Participant, ReportsATimedOutWaitToALaterLeader) {
  ParticipantScenario scenario;
  EXPECT_EQ(scenario.happen(InputsFailed{EndKind::BadInput, "the rank table is no JSON object"}), "");
  EXPECT_EQ(scenario.happen(LinkUp{}), "tell join as node 1 | tell preparing: the rank table is no JSON object");
  EXPECT_EQ(scenario.join->waits_for, "the rank table is no JSON object") << "it is not ready";
}

TEST(Participant, EndsByItselfWhenItWaitedInVainAndFindsNoLeader) {
  ParticipantScenario scenario;
  (void)scenario.happen(InputsFailed{EndKind::BadInput, "the rank table is no JSON object"});
  (void)scenario.wait(seconds(4));
  EXPECT_EQ(scenario.state(), Participant::State::Connecting) << "the others are to hear of it";
  (void)scenario.wait(seconds(2));
  EXPECT_EQ(scenario.state(), Participant::State::Left) << "its leader may have found the same";
}

TEST(Participant, SendsNothingWithoutInputs) {
  ParticipantScenario scenario = joined();
  EXPECT_EQ(scenario.join->waits_for, "");
  EXPECT_EQ(scenario.happen(InputsChanged{}), "");
}

TEST(Participant, JoinsAnewAsReadyAsItIs) {
  GangConfig config = agent_of();
  config.waits_for = "its rank table";
  ParticipantScenario scenario = joined(std::move(config));
  (void)scenario.happen(LinkDown{"closed the connection"});
  (void)scenario.happen(InputsChanged{});
  (void)scenario.wait(seconds(2));
  (void)scenario.happen(LinkUp{});
  EXPECT_EQ(scenario.join->waits_for, "");
}

TEST(Participant, StartsNoMoreWorkersThanItHasOffered) {
  ParticipantScenario scenario = joined();
  Start start = start_of(0);
  start.placement.slots_here = 1'000'000;
  EXPECT_EQ(scenario.receive(start).find("start workers"), std::string::npos);
  EXPECT_NE(scenario.state(), Participant::State::Running);
  EXPECT_TRUE(scenario.has_said("sent a start of 1000000 slots, but this node has offered"));
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
  ParticipantScenario scenario(exchanging());
  EXPECT_EQ(scenario.happen(Contributed{"ports", "5000", {}}), "");
  EXPECT_EQ(scenario.happen(LinkUp{}), "tell join as node 1 | tell contribute ports for 0: 5000");
  EXPECT_EQ(scenario.join->contributes, (std::vector<std::string>{"ports"}));
  (void)scenario.happen(LinkDown{"closed the connection"});
  (void)scenario.wait(seconds(2));
  EXPECT_EQ(scenario.happen(LinkUp{}), "tell join as node 1 | tell contribute ports for 0: 5000");
}

TEST(Participant, ContributesLateWhatBelongsToTheStartAndAnewWhatHasChanged) {
  ParticipantScenario scenario = joined(exchanging());
  EXPECT_EQ(scenario.happen(Contributed{"ports", "5000", {}}), "tell contribute ports for 0: 5000");
  EXPECT_EQ(scenario.happen(Contributed{"ports", "5000", {}}), "");
  EXPECT_EQ(scenario.happen(Contributed{"ports", "5001", {}}), "tell contribute ports for 0: 5001");
  (void)scenario.happen(LinkDown{"closed the connection"});
  (void)scenario.wait(seconds(2));
  EXPECT_EQ(scenario.happen(LinkUp{}), "tell join as node 1 | tell contribute ports for 0: 5001");
}

TEST(Participant, StartsWithWhatWasMergedForTheAttempt) {
  ParticipantScenario scenario = joined(exchanging());
  EXPECT_EQ(scenario.receive(merged("ports", 0, "all")), "");
  EXPECT_EQ(scenario.receive(start_of(0)), "start workers of 0");
  EXPECT_EQ(scenario.merged, (Exchanged{{"ports", "all"}}));
  (void)scenario.happen(AttemptOver{});
  EXPECT_EQ(scenario.receive(start_of(1)), "start workers of 1");
  EXPECT_TRUE(scenario.merged.empty()) << "of another attempt";
}

TEST(Participant, ForgetsMergedValuesOfALeaderLostBeforeTheStart) {
  ParticipantScenario scenario = joined(exchanging());
  (void)scenario.receive(merged("ports", 0, "all"));
  (void)scenario.happen(LinkDown{"closed the connection"});
  (void)scenario.wait(seconds(2));
  (void)scenario.happen(LinkUp{});
  (void)scenario.receive(Admitted{NodeRank{1}, 8});

  EXPECT_EQ(scenario.receive(start_of(0)), "start workers of 0");
  EXPECT_TRUE(scenario.merged.empty());
}

TEST(Participant, ExchangesValuesWhileItsWorkersRun) {
  ParticipantScenario scenario = joined(exchanging());
  EXPECT_EQ(scenario.happen(Contributed{"fence", "early", {}}), "") << "nothing runs";
  (void)scenario.receive(start_of(0));
  EXPECT_EQ(scenario.happen(Contributed{"fence", "a", {}}), "tell contribute fence 0 of 0: a");
  EXPECT_EQ(scenario.happen(Contributed{"fence", "b", {}}), "tell contribute fence 1 of 0: b");
  EXPECT_EQ(scenario.receive(merged("fence", 0, "all", true)), "deliver fence: all");
  EXPECT_EQ(scenario.receive(merged("fence", 1, "all", true)), "") << "of no attempt that runs";
}

TEST(Participant, LeavesALeaderThatSendsAnUnknownMergedValue) {
  ParticipantScenario scenario = joined(exchanging());
  EXPECT_NE(scenario.receive(merged("exec", 0, "all")).find("hang up"), std::string::npos);
}

}  // namespace
}  // namespace muster::gang
