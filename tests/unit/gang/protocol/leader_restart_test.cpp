// From one attempt to the next: the budget, the back-off, the fence, and who takes part.
#include "gang/protocol/leader_scenario.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

TEST(Restart, StartsAgainOnTheSameNodesWithANewPort) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  const std::uint16_t old_port = scenario.port;
  EXPECT_EQ(scenario.receive(1, Failed{0, failure_of(3)}), "0,1: stop 0 by SIGTERM") << "the end is not known";
  EXPECT_EQ(scenario.receive(1, AttemptOver{0, failure_of(3), std::nullopt}), "");

  EXPECT_EQ(scenario.receive(0, AttemptOver{}),
            "reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "1: start 1 as node 1 of 2, slots 2 of 4");
  EXPECT_NE(scenario.port, old_port);
  EXPECT_EQ(scenario.last_start->placement.worker_port, scenario.port);
  EXPECT_TRUE(
      scenario.has_said("rank 3 on node 1 (host-b) failed (exit code 9): starting attempt 1 "
                        "(restart 1 of 3)"))
      << scenario.all_said();
}

TEST(Restart, WaitsUntilNothingIsAliveOnAnyNode) {
  LeaderScenario scenario = running(restarting(job_of(3)), 3);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.receive(1, AttemptOver{});

  EXPECT_EQ(scenario.wait(seconds(85)), "");
  EXPECT_EQ(scenario.state(), State::Stopping);
}

TEST(Restart, TakesANodeForLostThatNeverSaysThatNothingIsAlive) {
  LeaderScenario scenario = running(restarting(job_of(3)), 3);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.receive(1, AttemptOver{});

  const std::string done = scenario.wait(seconds(95));  // a grace of 30 s, and a minute
  EXPECT_EQ(done.find("drop 2"), 0U) << done;
  EXPECT_TRUE(scenario.has_said("does not say that its workers have ended")) << scenario.all_said();
}

TEST(Restart, WaitsForTheLongestGraceOfAllNodes) {
  LeaderScenario scenario(restarting(job_of(2)));
  Join patient = scenario.join_of(1, 1);
  patient.node.grace = seconds(300);
  (void)scenario.arrive(1, patient);
  (void)scenario.receive(0, Failed{0, failure_of(1)});
  (void)scenario.receive(0, AttemptOver{});

  EXPECT_EQ(scenario.wait(seconds(359)), "");
  EXPECT_EQ(scenario.wait(seconds(2)), "drop 1");
}

TEST(Restart, DoesNotHappenBesideAnUnkillableProcess) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  (void)scenario.receive(0, AttemptOver{});

  EXPECT_EQ(scenario.receive(1, AttemptOver{0, failure_of(3), std::nullopt, /*gave_up=*/true}),
            "0,1: finish: failed 9");
  EXPECT_TRUE(
      scenario.has_said("node 1, host-b (10.0.0.2), could not kill a process of attempt 0: "
                        "muster starts no other attempt"))
      << scenario.all_said();
}

TEST(Restart, DoesNotHappenBesideAnUnkillableProcessAfterASuccess) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.receive(1, last_success_of(3));
  (void)scenario.receive(1, AttemptOver{0, std::nullopt, std::nullopt, /*gave_up=*/true});
  EXPECT_EQ(scenario.state(), State::Running);

  EXPECT_EQ(scenario.receive(0, Failed{0, failure_of(1)}), "0,1: stop 0 by SIGTERM, the end is failed 9");
}

TEST(Restart, EndsWithTheLastFailureWhenTheBudgetIsSpent) {
  LeaderScenario scenario = running(restarting(job_of(2), 1), 2);
  (void)scenario.fail_all(0, failure_of(1));
  EXPECT_EQ(scenario.state(), State::Running);

  EXPECT_EQ(scenario.receive(1, Failed{1, failure_of(3, ExitStatus::exited(4))}),
            "0,1: stop 1 by SIGTERM, the end is failed 4");
  EXPECT_EQ(scenario.end_all(1), "0,1: finish: failed 4");
  EXPECT_EQ(scenario.end->attempt, 1);
  ASSERT_EQ(scenario.end->gang.past_attempts.size(), 1U);
  EXPECT_EQ(scenario.end->gang.past_attempts[0].attempt, 0);
  EXPECT_EQ(scenario.end->gang.past_attempts[0].reason, "rank 1 on node 0 (host-a) failed (exit code 9)");
}

TEST(Restart, KeepsTheOthersThatMayHaveFailedFirst) {
  LeaderScenario scenario = running(restarting(job_of(2), 1), 2);
  Failure other = failure_of(1);
  other.last_lines = {"Traceback", "KeyError: 'x'"};
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  (void)scenario.receive(0, AttemptOver{0, other, std::nullopt});
  (void)scenario.receive(1, AttemptOver{0, failure_of(3), std::nullopt});
  (void)scenario.fail_all(1);

  ASSERT_EQ(scenario.end->gang.past_attempts.size(), 1U);
  const auto& past = scenario.end->gang.past_attempts[0];
  ASSERT_EQ(past.also_failed.size(), 1U);
  EXPECT_NE(past.also_failed[0].find(" on node "), std::string::npos) << past.also_failed[0];
}

TEST(Restart, CountsNoRestartThatIsOlderThanTheWindow) {
  GangConfig config = restarting(job_of(2), 1);
  config.options.restarts.window = std::chrono::hours(1);
  LeaderScenario scenario = running(config, 2);
  (void)scenario.fail_all(0);
  (void)scenario.wait(std::chrono::minutes(61));
  (void)scenario.fail_all(1);
  EXPECT_EQ(scenario.state(), State::Running);
  (void)scenario.wait(std::chrono::minutes(59));

  EXPECT_EQ(scenario.receive(1, Failed{2, failure_of(3)}), "0,1: stop 2 by SIGTERM, the end is failed 9");
}

TEST(Restart, ForgetsWhatTheOldAttemptSaid) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.receive(0, last_success_of(1));
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  (void)scenario.end_all();
  ASSERT_EQ(scenario.state(), State::Running);

  EXPECT_EQ(scenario.receive(0, Failed{0, failure_of(0)}), "");
  EXPECT_EQ(scenario.receive(0, AttemptOver{0, std::nullopt, std::nullopt}), "");
  EXPECT_EQ(scenario.receive(1, last_success_of(3, 1)), "");
  EXPECT_EQ(scenario.state(), State::Running) << "the success of node 0 was of attempt 0";
}

TEST(Restart, BacksOffFromTheSecondInARow) {
  GangConfig config = restarting(job_of(2), 20);
  config.options.restarts.no_progress_limit = 0;
  LeaderScenario scenario = running(config, 2);
  (void)scenario.fail_all(0);
  EXPECT_EQ(scenario.state(), State::Running) << "the first restart is at once";
  int attempt = 1;
  for (const int expected : {1, 2, 4, 8, 16, 32, 60, 60}) {
    (void)scenario.fail_all(attempt++);
    EXPECT_EQ(scenario.state(), State::Resting);
    (void)scenario.wait(seconds(expected) - milliseconds(1));
    EXPECT_EQ(scenario.state(), State::Resting) << expected << " s";
    (void)scenario.wait(milliseconds(1));
    EXPECT_EQ(scenario.state(), State::Running) << expected << " s";
  }
}

TEST(Restart, WaitsForALongConfiguredBackoff) {
  GangConfig config = restarting(job_of(2), 20);
  config.options.restarts.backoff = seconds(300);
  LeaderScenario scenario = running(config, 2);
  (void)scenario.fail_all(0);
  (void)scenario.fail_all(1);

  EXPECT_EQ(scenario.wait(seconds(299)), "");
  EXPECT_NE(scenario.wait(seconds(1)), "");
}

TEST(Restart, IsAtOnceAgainAfterASteadyRun) {
  GangConfig config = restarting(job_of(2), 20);
  LeaderScenario scenario = running(config, 2);
  (void)scenario.fail_all(0);
  (void)scenario.wait(seconds(300));
  (void)scenario.fail_all(1);

  EXPECT_EQ(scenario.state(), State::Running);
  (void)scenario.fail_all(2);
  EXPECT_EQ(scenario.state(), State::Resting);
}

TEST(Restart, KeepsTheLastTenPastAttempts) {
  GangConfig config = restarting(job_of(1), 50);
  config.options.restarts.no_progress_limit = 0;
  LeaderScenario scenario = running(config, 1);
  for (int attempt = 0; attempt < 15; ++attempt) {
    (void)scenario.fail_all(attempt);
    (void)scenario.wait(seconds(61));
  }
  (void)scenario.receive(0, StopFromAgent{SIGTERM});
  (void)scenario.end_all(15);

  ASSERT_EQ(scenario.end->gang.past_attempts.size(), 10U);
  EXPECT_EQ(scenario.end->gang.past_attempts.front().attempt, 5);
  EXPECT_EQ(scenario.end->gang.past_attempts.back().attempt, 14);
}

TEST(Restart, EndsWhenNoPortIsLeftForTheNextAttempt) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  scenario.answers_port = false;
  EXPECT_EQ(scenario.fail_all(0), "reserve port");

  EXPECT_EQ(scenario.happen(PortReserved{{0}, "no port is free"}), "0,1: finish: failed 71");
}

TEST(Restart, IsNotWhereAProgramIsNotFound) {
  for (const int code : {126, 127}) {
    LeaderScenario scenario = running(restarting(job_of(2), 10), 2);
    Failure failure = failure_of(1);
    failure.status = ExitStatus::exited(code);
    failure.exit_code = code;
    (void)scenario.receive(0, Failed{0, failure});

    EXPECT_EQ(scenario.end_all(0), "0,1: finish: failed " + std::to_string(code));
  }
}

// --- No progress --------------------------------------------------------------------------------

TEST(RestartDecider, EndsAJobThatFailsTheSameWayThreeTimes) {
  LeaderScenario scenario = running(restarting(job_of(2), 10), 2);
  for (int attempt = 0; attempt < 2; ++attempt) {
    (void)scenario.fail_all(attempt);
    (void)scenario.wait(seconds(20));
  }
  (void)scenario.receive(0, Failed{2, failure_of(1)});

  EXPECT_EQ(scenario.end_all(2), "0,1: finish: failed 93");
  EXPECT_EQ(scenario.end->reason,
            "no progress over 3 attempts, the last time: "
            "rank 1 on node 0 (host-a) failed (exit code 9)");
  EXPECT_EQ(scenario.end->first_failure->global_rank.value, 1);
}

TEST(RestartDecider, CountsOnlyTheSameFailure) {
  LeaderScenario scenario = running(restarting(job_of(2), 10), 2);
  for (int attempt = 0; attempt < 6; ++attempt) {
    (void)scenario.fail_all(attempt, failure_of(1 + attempt % 2));
    (void)scenario.wait(seconds(61));
  }
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(RestartDecider, IsAssumedOfAnAttemptThatRanLong) {
  LeaderScenario scenario = running(restarting(job_of(2), 20), 2);
  for (int attempt = 0; attempt < 8; ++attempt) {
    (void)scenario.wait(attempt % 2 == 0 ? seconds(10) : seconds(130));
    (void)scenario.fail_all(attempt);
  }
  EXPECT_NE(scenario.state(), State::Finishing);
}

TEST(RestartDecider, IsNoMatterOfALostNode) {
  LeaderScenario scenario = running(restarting(job_of(2), 10), 2);
  for (LinkId link = 1; link < 6; ++link) {
    (void)scenario.lose(link);
    (void)scenario.end_all(static_cast<int>(link) - 1);
    (void)scenario.wait(seconds(61));
    (void)scenario.arrive(link + 1, 1);
    EXPECT_EQ(scenario.state(), State::Running);
  }
}

TEST(RestartDecider, IsWhatTheProgressFileShows) {
  LeaderScenario scenario = running(restarting(job_of(2), 10), 2);
  for (int attempt = 0; attempt < 5; ++attempt) {
    (void)scenario.receive(0, Failed{attempt, failure_of(1)});
    (void)scenario.receive(0, AttemptOver{attempt, std::nullopt, false});
    (void)scenario.receive(1, AttemptOver{attempt, std::nullopt, attempt == 1});
    (void)scenario.wait(seconds(20));
    EXPECT_EQ(scenario.state(), attempt < 4 ? State::Running : State::Finished) << attempt;
  }
  EXPECT_EQ(scenario.end->exit_code, 93);
}

TEST(RestartDecider, ThatAFileDoesNotShowIsMissingHoweverDifferentTheFailures) {
  LeaderScenario scenario = running(restarting(job_of(2), 10), 2);
  for (int attempt = 0; attempt < 3; ++attempt) {
    (void)scenario.wait(seconds(100));
    (void)scenario.receive(0, Failed{attempt, failure_of(attempt)});
    (void)scenario.receive(0, AttemptOver{attempt, std::nullopt, false});
    (void)scenario.receive(1, AttemptOver{attempt, std::nullopt, false});
  }
  EXPECT_EQ(scenario.end->exit_code, 93);
}

TEST(RestartDecider, IsNotCheckedWhereTheRuleIsOff) {
  GangConfig config = restarting(job_of(2), 10);
  config.options.restarts.no_progress_limit = 0;
  LeaderScenario scenario = running(config, 2);
  for (int attempt = 0; attempt < 8; ++attempt) {
    (void)scenario.fail_all(attempt);
    (void)scenario.wait(seconds(59));
  }
  EXPECT_EQ(scenario.state(), State::Resting);
}

// --- A lost node --------------------------------------------------------------------------------

TEST(Fence, KeepsTheNextAttemptWaitingUntilTheLostNodeMustBeEmpty) {
  LeaderScenario scenario = running(restarting(job_of(2, 3)), 3);
  EXPECT_EQ(scenario.lose(2), "0,1: stop 0 by SIGTERM");
  EXPECT_EQ(scenario.last_start->orphan_limit_seconds, 8);
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.receive(1, AttemptOver{});
  EXPECT_EQ(scenario.state(), State::Resting);
  EXPECT_TRUE(scenario.has_said("after the lost node's fencing time")) << scenario.all_said();
  EXPECT_FALSE(scenario.has_said("was lost")) << "its own agent says it when it is told to stop";

  EXPECT_EQ(scenario.wait(seconds(16)), "") << "8 s until it notices, and 8 s to end";
  EXPECT_EQ(scenario.wait(seconds(3)),
            "reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "1: start 1 as node 1 of 2, slots 2 of 4");
}

TEST(Fence, LogsTheLostNodeWhereTheEndDoesNot) {
  LeaderScenario scenario = running(restarting(job_of(2, 3)), 3);
  (void)scenario.receive(0, last_success_of(0));
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.lose(2);
  (void)scenario.receive(1, AttemptOver{});

  EXPECT_TRUE(
      scenario.has_said("node 2, host-c (10.0.0.3), was lost: it closed the connection: "
                        "starting attempt 1"))
      << scenario.all_said();
}

TEST(Fence, IsNoneWhereTheLostNodeHadEnded) {
  LeaderScenario scenario = running(restarting(job_of(2, 3)), 3);
  (void)scenario.receive(0, Failed{0, failure_of(1)});
  (void)scenario.receive(2, AttemptOver{});
  (void)scenario.lose(2);
  (void)scenario.receive(0, AttemptOver{});

  EXPECT_NE(scenario.receive(1, AttemptOver{}).find("1: start 1 as node 1 of 2"), std::string::npos);
}

TEST(Fence, CoversANodeThatIsLostWhileStopping) {
  LeaderScenario scenario = running(restarting(job_of(2, 3)), 3);
  (void)scenario.receive(0, Failed{0, failure_of(1)});
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.receive(1, AttemptOver{});
  EXPECT_EQ(scenario.lose(2), "");
  EXPECT_EQ(scenario.state(), State::Resting);

  EXPECT_EQ(scenario.wait(seconds(16)), "");
  EXPECT_EQ(scenario.wait(seconds(3)).substr(0, 12), "reserve port");
}

TEST(Fence, CoversANodeThatIsLostAfterItHadSucceeded) {
  LeaderScenario scenario = running(restarting(job_of(2, 3)), 3);
  (void)scenario.receive(2, last_success_of(5));
  (void)scenario.lose(2);
  (void)scenario.receive(0, Failed{0, failure_of(1)});
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.receive(1, AttemptOver{});

  EXPECT_EQ(scenario.state(), State::Resting) << "its other workers may be alive";
}

TEST(Fence, IsNotNeededWhereTheJobCannotRestart) {
  const LeaderScenario scenario = running(2);
  EXPECT_EQ(scenario.last_start->orphan_limit_seconds, 0) << "workers have their whole grace";
}

TEST(Replacement, ComesFromTheSpares) {
  LeaderScenario scenario = running(restarting(job_of(3)), 3);
  (void)scenario.arrive(9);
  (void)scenario.lose(1);
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.receive(2, AttemptOver{});

  EXPECT_EQ(scenario.wait(seconds(20)),
            "9: admitted as node 1 | reserve port | 0: start 1 as node 0 of 3, slots 0 of 6 | "
            "9: start 1 as node 1 of 3, slots 2 of 6 | 2: start 1 as node 2 of 3, slots 4 of 6");
}

TEST(Replacement, IsWaitedForAndThenTheJobIsLost) {
  GangConfig config = restarting(job_of(3));
  config.options.timeout = seconds(60);
  LeaderScenario scenario = running(config, 3);
  (void)scenario.lose(1);
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.receive(2, AttemptOver{});
  (void)scenario.wait(seconds(20));
  EXPECT_EQ(scenario.state(), State::Rendezvous);
  EXPECT_TRUE(
      scenario.has_said("2 of 3 nodes are here after 0 s: node 1 (host-b) left: closed the "
                        "connection; giving up in 60 s"))
      << scenario.all_said();

  (void)scenario.wait(seconds(60));
  EXPECT_EQ(words_of(*scenario.end), "lost 69");
  EXPECT_EQ(scenario.end->reason, "2 of 3 nodes came within 60 s: node 1 (host-b) left: closed the connection");
}

TEST(Replacement, MayComeLater) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.lose(1);
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.wait(seconds(100));

  EXPECT_EQ(scenario.arrive(5, 1),
            "5: admitted as node 1 | reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "5: start 1 as node 1 of 2, slots 2 of 4");
}

TEST(Replacement, IsTheReturnedNodeItself) {
  LeaderScenario scenario = running(restarting(job_of(2, 3)), 3);
  (void)scenario.lose(1);
  EXPECT_EQ(scenario.arrive(5, 1), "5: admitted as a spare of a job that runs") << "while the attempt is stopping";
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.receive(2, AttemptOver{});

  EXPECT_EQ(scenario.wait(seconds(20)),
            "5: admitted as node 1 | reserve port | 0: start 1 as node 0 of 3, slots 0 of 6 | "
            "5: start 1 as node 1 of 3, slots 2 of 6 | 2: start 1 as node 2 of 3, slots 4 of 6");
}

TEST(Replacement, WaitsAsASpareUntilTheJobStartsAnew) {
  LeaderScenario scenario = running(restarting(job_of(2, 3)), 3);
  (void)scenario.lose(1);
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.receive(2, AttemptOver{});
  (void)scenario.wait(seconds(20));
  ASSERT_EQ(scenario.state(), State::Running) << "the job is smaller now";
  EXPECT_EQ(scenario.arrive(5, 1), "5: admitted as a spare of a job that runs");

  EXPECT_NE(scenario.fail_all(1).find("start"), 0U);
  EXPECT_NE(scenario.wait(seconds(2)).find("5: start 2 as node 1 of 3"), std::string::npos);
}

TEST(Replacement, KeepsRanksOverRestarts) {
  LeaderScenario scenario = running(restarting(job_of(4)), 4);
  (void)scenario.fail_all(0);

  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 1, 2, 3}));
  EXPECT_EQ(scenario.last_start->placement.node_rank.value, 3);
}

TEST(Replacement, IsOmittedWhereTheJobMayShrink) {
  LeaderScenario scenario = running(restarting(job_of(1, 4)), 4);
  (void)scenario.lose(1);
  (void)scenario.lose(3);
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.receive(2, AttemptOver{});

  EXPECT_EQ(scenario.wait(seconds(20)),
            "reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "2: start 1 as node 1 of 2, slots 2 of 4");
}

TEST(Replacement, ComesFromASpareWithAnotherRank) {
  LeaderScenario scenario = running(restarting(job_of(2, 4)), 2);
  (void)scenario.arrive(5, 3);
  (void)scenario.lose(1);
  (void)scenario.receive(0, AttemptOver{});

  EXPECT_EQ(scenario.wait(seconds(20)),
            "5: admitted as node 3 | reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "5: start 1 as node 1 of 2, slots 2 of 4");
}

TEST(Replacement, ThatIsLostDoesNotFailTheJob) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.arrive(9);
  EXPECT_EQ(scenario.lose(9), "") << "a spare is nobody's failure";
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(Replacement, LosesANodeBetweenAttempts) {
  LeaderScenario scenario = running(restarting(job_of(2, 3)), 3);
  (void)scenario.lose(2);
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.receive(1, AttemptOver{});
  ASSERT_EQ(scenario.state(), State::Resting);
  EXPECT_EQ(scenario.lose(1), "");

  (void)scenario.wait(seconds(20));
  EXPECT_EQ(scenario.state(), State::Rendezvous) << "one node is too few";
  EXPECT_EQ(scenario.arrive(6, 2).substr(0, 36), "6: admitted as node 2 | reserve port");
}

}  // namespace
}  // namespace muster::gang
