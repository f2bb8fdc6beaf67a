// From one attempt to the next: the budget, the back-off, the fence, and who takes part.
#include "gang/protocol/leader_story.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

TEST(Restart, StartsAgainOnTheSameNodesWithANewPort) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  const std::uint16_t old_port = story.port;
  EXPECT_EQ(story.read_signal(1, Failed{0, failure_of(3)}), "0,1: stop 0 by SIGTERM") << "the end is not known";
  EXPECT_EQ(story.read_signal(1, AttemptOver{0, failure_of(3), std::nullopt}), "");

  EXPECT_EQ(story.read_signal(0, AttemptOver{}),
            "reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "1: start 1 as node 1 of 2, slots 2 of 4");
  EXPECT_NE(story.port, old_port);
  EXPECT_EQ(story.last_start->placement.worker_port, story.port);
  EXPECT_TRUE(
      story.has_said("rank 3 on node 1 (host-b) failed (exit code 9): starting attempt 1 "
                     "(restart 1 of 3)"))
      << story.all_said();
}

TEST(Restart, WaitsUntilNothingIsAliveOnAnyNode) {
  LeaderStory story = running(restarting(job_of(3)), 3);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  (void)story.read_signal(0, AttemptOver{});
  (void)story.read_signal(1, AttemptOver{});

  EXPECT_EQ(story.wait(seconds(85)), "");
  EXPECT_EQ(story.state(), State::Stopping);
}

TEST(Restart, TakesANodeForLostThatNeverSaysThatNothingIsAlive) {
  LeaderStory story = running(restarting(job_of(3)), 3);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  (void)story.read_signal(0, AttemptOver{});
  (void)story.read_signal(1, AttemptOver{});

  const std::string done = story.wait(seconds(95));  // a grace of 30 s, and a minute
  EXPECT_EQ(done.find("drop 2"), 0U) << done;
  EXPECT_TRUE(story.has_said("does not say that its workers have ended")) << story.all_said();
}

TEST(Restart, WaitsForTheLongestGraceOfAllNodes) {
  LeaderStory story(restarting(job_of(2)));
  Join patient = story.join_of(1, 1);
  patient.node.grace = seconds(300);
  (void)story.arrive(1, patient);
  (void)story.read_signal(0, Failed{0, failure_of(1)});
  (void)story.read_signal(0, AttemptOver{});

  EXPECT_EQ(story.wait(seconds(359)), "");
  EXPECT_EQ(story.wait(seconds(2)), "drop 1");
}

TEST(Restart, DoesNotHappenBesideAnUnkillableProcess) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  (void)story.read_signal(0, AttemptOver{});

  EXPECT_EQ(story.read_signal(1, AttemptOver{0, failure_of(3), std::nullopt, /*gave_up=*/true}),
            "0,1: finish: failed 9");
  EXPECT_TRUE(
      story.has_said("node 1, host-b (10.0.0.2), could not kill a process of attempt 0: "
                     "there is no other attempt beside it"))
      << story.all_said();
}

TEST(Restart, DoesNotHappenBesideAnUnkillableProcessAfterASuccess) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.read_signal(1, last_success_of(3));
  (void)story.read_signal(1, AttemptOver{0, std::nullopt, std::nullopt, /*gave_up=*/true});
  EXPECT_EQ(story.state(), State::Running);

  EXPECT_EQ(story.read_signal(0, Failed{0, failure_of(1)}), "0,1: stop 0 by SIGTERM, the end is failed 9");
}

TEST(Restart, EndsWithTheLastFailureWhenTheBudgetIsSpent) {
  LeaderStory story = running(restarting(job_of(2), 1), 2);
  (void)story.fail_all(0, failure_of(1));
  EXPECT_EQ(story.state(), State::Running);

  EXPECT_EQ(story.read_signal(1, Failed{1, failure_of(3, ExitStatus::exited(4))}),
            "0,1: stop 1 by SIGTERM, the end is failed 4");
  EXPECT_EQ(story.end_all(1), "0,1: finish: failed 4");
  EXPECT_EQ(story.end->attempt, 1);
  ASSERT_EQ(story.end->gang.past_attempts.size(), 1U);
  EXPECT_EQ(story.end->gang.past_attempts[0].attempt, 0);
  EXPECT_EQ(story.end->gang.past_attempts[0].reason, "rank 1 on node 0 (host-a) failed (exit code 9)");
}

TEST(Restart, CountsNoRestartThatIsOlderThanTheWindow) {
  GangConfig config = restarting(job_of(2), 1);
  config.options.restarts.window = std::chrono::hours(1);
  LeaderStory story = running(config, 2);
  (void)story.fail_all(0);
  (void)story.wait(std::chrono::minutes(61));
  (void)story.fail_all(1);
  EXPECT_EQ(story.state(), State::Running);
  (void)story.wait(std::chrono::minutes(59));

  EXPECT_EQ(story.read_signal(1, Failed{2, failure_of(3)}), "0,1: stop 2 by SIGTERM, the end is failed 9");
}

TEST(Restart, ForgetsWhatTheOldAttemptSaid) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.read_signal(0, last_success_of(1));
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  (void)story.end_all();
  ASSERT_EQ(story.state(), State::Running);

  EXPECT_EQ(story.read_signal(0, Failed{0, failure_of(0)}), "");
  EXPECT_EQ(story.read_signal(0, AttemptOver{0, std::nullopt, std::nullopt}), "");
  EXPECT_EQ(story.read_signal(1, last_success_of(3, 1)), "");
  EXPECT_EQ(story.state(), State::Running) << "the success of node 0 was of attempt 0";
}

TEST(Restart, BacksOffFromTheSecondInARow) {
  GangConfig config = restarting(job_of(2), 20);
  config.options.restarts.no_progress_limit = 0;
  LeaderStory story = running(config, 2);
  (void)story.fail_all(0);
  EXPECT_EQ(story.state(), State::Running) << "the first restart is at once";
  int attempt = 1;
  for (const int expected : {1, 2, 4, 8, 16, 32, 60, 60}) {
    (void)story.fail_all(attempt++);
    EXPECT_EQ(story.state(), State::Resting);
    (void)story.wait(seconds(expected) - milliseconds(1));
    EXPECT_EQ(story.state(), State::Resting) << expected << " s";
    (void)story.wait(milliseconds(1));
    EXPECT_EQ(story.state(), State::Running) << expected << " s";
  }
}

TEST(Restart, WaitsForALongConfiguredBackoff) {
  GangConfig config = restarting(job_of(2), 20);
  config.options.restarts.backoff = seconds(300);
  LeaderStory story = running(config, 2);
  (void)story.fail_all(0);
  (void)story.fail_all(1);

  EXPECT_EQ(story.wait(seconds(299)), "");
  EXPECT_NE(story.wait(seconds(1)), "");
}

TEST(Restart, IsAtOnceAgainAfterASteadyRun) {
  GangConfig config = restarting(job_of(2), 20);
  LeaderStory story = running(config, 2);
  (void)story.fail_all(0);
  (void)story.wait(seconds(300));
  (void)story.fail_all(1);

  EXPECT_EQ(story.state(), State::Running);
  (void)story.fail_all(2);
  EXPECT_EQ(story.state(), State::Resting);
}

TEST(Restart, KeepsTheLastTenPastAttempts) {
  GangConfig config = restarting(job_of(1), 50);
  config.options.restarts.no_progress_limit = 0;
  LeaderStory story = running(config, 1);
  for (int attempt = 0; attempt < 15; ++attempt) {
    (void)story.fail_all(attempt);
    (void)story.wait(seconds(61));
  }
  (void)story.read_signal(0, StopFromAgent{SIGTERM});
  (void)story.end_all(15);

  ASSERT_EQ(story.end->gang.past_attempts.size(), 10U);
  EXPECT_EQ(story.end->gang.past_attempts.front().attempt, 5);
  EXPECT_EQ(story.end->gang.past_attempts.back().attempt, 14);
}

TEST(Restart, EndsWhenNoPortIsLeftForTheNextAttempt) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  story.answers_port = false;
  EXPECT_EQ(story.fail_all(0), "reserve port");

  EXPECT_EQ(story.happen(PortReserved{{0}, "no port is free"}), "0,1: finish: failed 71");
}

TEST(Restart, IsNotWhereAProgramIsNotFound) {
  for (const int code : {126, 127}) {
    LeaderStory story = running(restarting(job_of(2), 10), 2);
    Failure failure = failure_of(1);
    failure.status = ExitStatus::exited(code);
    failure.exit_code = code;
    (void)story.read_signal(0, Failed{0, failure});

    EXPECT_EQ(story.end_all(0), "0,1: finish: failed " + std::to_string(code));
  }
}

// --- No progress --------------------------------------------------------------------------------

TEST(RestartDecider, EndsAJobThatFailsTheSameWayThreeTimes) {
  LeaderStory story = running(restarting(job_of(2), 10), 2);
  for (int attempt = 0; attempt < 2; ++attempt) {
    (void)story.fail_all(attempt);
    (void)story.wait(seconds(20));
  }
  (void)story.read_signal(0, Failed{2, failure_of(1)});

  EXPECT_EQ(story.end_all(2), "0,1: finish: failed 93");
  EXPECT_EQ(story.end->reason,
            "no progress over 3 attempts, the last time: "
            "rank 1 on node 0 (host-a) failed (exit code 9)");
  EXPECT_EQ(story.end->first_failure->global_rank.value, 1);
}

TEST(RestartDecider, CountsOnlyTheSameFailure) {
  LeaderStory story = running(restarting(job_of(2), 10), 2);
  for (int attempt = 0; attempt < 6; ++attempt) {
    (void)story.fail_all(attempt, failure_of(1 + attempt % 2));
    (void)story.wait(seconds(61));
  }
  EXPECT_EQ(story.state(), State::Running);
}

TEST(RestartDecider, IsAssumedOfAnAttemptThatRanLong) {
  LeaderStory story = running(restarting(job_of(2), 20), 2);
  for (int attempt = 0; attempt < 8; ++attempt) {
    (void)story.wait(attempt % 2 == 0 ? seconds(10) : seconds(130));
    (void)story.fail_all(attempt);
  }
  EXPECT_NE(story.state(), State::Finishing);
}

TEST(RestartDecider, IsNoMatterOfALostNode) {
  LeaderStory story = running(restarting(job_of(2), 10), 2);
  for (LinkId link = 1; link < 6; ++link) {
    (void)story.lose(link);
    (void)story.end_all(static_cast<int>(link) - 1);
    (void)story.wait(seconds(61));
    (void)story.arrive(link + 1, 1);
    EXPECT_EQ(story.state(), State::Running);
  }
}

TEST(RestartDecider, IsWhatTheProgressFileShows) {
  LeaderStory story = running(restarting(job_of(2), 10), 2);
  for (int attempt = 0; attempt < 5; ++attempt) {
    (void)story.read_signal(0, Failed{attempt, failure_of(1)});
    (void)story.read_signal(0, AttemptOver{attempt, std::nullopt, false});
    (void)story.read_signal(1, AttemptOver{attempt, std::nullopt, attempt == 1});
    (void)story.wait(seconds(20));
    EXPECT_EQ(story.state(), attempt < 4 ? State::Running : State::Finished) << attempt;
  }
  EXPECT_EQ(story.end->exit_code, 93);
}

TEST(RestartDecider, ThatAFileDoesNotShowIsMissingHoweverDifferentTheFailures) {
  LeaderStory story = running(restarting(job_of(2), 10), 2);
  for (int attempt = 0; attempt < 3; ++attempt) {
    (void)story.wait(seconds(100));
    (void)story.read_signal(0, Failed{attempt, failure_of(attempt)});
    (void)story.read_signal(0, AttemptOver{attempt, std::nullopt, false});
    (void)story.read_signal(1, AttemptOver{attempt, std::nullopt, false});
  }
  EXPECT_EQ(story.end->exit_code, 93);
}

TEST(RestartDecider, IsNotCheckedWhereTheRuleIsOff) {
  GangConfig config = restarting(job_of(2), 10);
  config.options.restarts.no_progress_limit = 0;
  LeaderStory story = running(config, 2);
  for (int attempt = 0; attempt < 8; ++attempt) {
    (void)story.fail_all(attempt);
    (void)story.wait(seconds(59));
  }
  EXPECT_EQ(story.state(), State::Resting);
}

// --- A lost node --------------------------------------------------------------------------------

TEST(Fence, KeepsTheNextAttemptWaitingUntilTheLostNodeMustBeEmpty) {
  LeaderStory story = running(restarting(job_of(2, 3)), 3);
  EXPECT_EQ(story.lose(2), "0,1: stop 0 by SIGTERM");
  EXPECT_EQ(story.last_start->orphan_limit_seconds, 8);
  (void)story.read_signal(0, AttemptOver{});
  (void)story.read_signal(1, AttemptOver{});
  EXPECT_EQ(story.state(), State::Resting);
  EXPECT_TRUE(story.has_said("after the lost node's fencing time")) << story.all_said();
  EXPECT_FALSE(story.has_said("was lost")) << "its own agent says it when it is told to stop";

  EXPECT_EQ(story.wait(seconds(16)), "") << "8 s until it notices, and 8 s to end";
  EXPECT_EQ(story.wait(seconds(3)),
            "reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "1: start 1 as node 1 of 2, slots 2 of 4");
}

TEST(Fence, LogsTheLostNodeWhereTheEndDoesNot) {
  LeaderStory story = running(restarting(job_of(2, 3)), 3);
  (void)story.read_signal(0, last_success_of(0));
  (void)story.read_signal(0, AttemptOver{});
  (void)story.lose(2);
  (void)story.read_signal(1, AttemptOver{});

  EXPECT_TRUE(
      story.has_said("node 2, host-c (10.0.0.3), was lost: it closed the connection: "
                     "starting attempt 1"))
      << story.all_said();
}

TEST(Fence, IsNoneWhereTheLostNodeHadEnded) {
  LeaderStory story = running(restarting(job_of(2, 3)), 3);
  (void)story.read_signal(0, Failed{0, failure_of(1)});
  (void)story.read_signal(2, AttemptOver{});
  (void)story.lose(2);
  (void)story.read_signal(0, AttemptOver{});

  EXPECT_NE(story.read_signal(1, AttemptOver{}).find("1: start 1 as node 1 of 2"), std::string::npos);
}

TEST(Fence, CoversANodeThatIsLostWhileStopping) {
  LeaderStory story = running(restarting(job_of(2, 3)), 3);
  (void)story.read_signal(0, Failed{0, failure_of(1)});
  (void)story.read_signal(0, AttemptOver{});
  (void)story.read_signal(1, AttemptOver{});
  EXPECT_EQ(story.lose(2), "");
  EXPECT_EQ(story.state(), State::Resting);

  EXPECT_EQ(story.wait(seconds(16)), "");
  EXPECT_EQ(story.wait(seconds(3)).substr(0, 12), "reserve port");
}

TEST(Fence, CoversANodeThatIsLostAfterItHadSucceeded) {
  LeaderStory story = running(restarting(job_of(2, 3)), 3);
  (void)story.read_signal(2, last_success_of(5));
  (void)story.lose(2);
  (void)story.read_signal(0, Failed{0, failure_of(1)});
  (void)story.read_signal(0, AttemptOver{});
  (void)story.read_signal(1, AttemptOver{});

  EXPECT_EQ(story.state(), State::Resting) << "its other workers may be alive";
}

TEST(Fence, IsNotNeededWhereTheJobCannotRestart) {
  const LeaderStory story = running(2);
  EXPECT_EQ(story.last_start->orphan_limit_seconds, 0) << "workers have their whole grace";
}

TEST(Replacement, ComesFromTheSpares) {
  LeaderStory story = running(restarting(job_of(3)), 3);
  (void)story.arrive(9);
  (void)story.lose(1);
  (void)story.read_signal(0, AttemptOver{});
  (void)story.read_signal(2, AttemptOver{});

  EXPECT_EQ(story.wait(seconds(20)),
            "9: admitted as node 1 | reserve port | 0: start 1 as node 0 of 3, slots 0 of 6 | "
            "9: start 1 as node 1 of 3, slots 2 of 6 | 2: start 1 as node 2 of 3, slots 4 of 6");
}

TEST(Replacement, IsWaitedForAndThenTheJobIsLost) {
  GangConfig config = restarting(job_of(3));
  config.options.timeout = seconds(60);
  LeaderStory story = running(config, 3);
  (void)story.lose(1);
  (void)story.read_signal(0, AttemptOver{});
  (void)story.read_signal(2, AttemptOver{});
  (void)story.wait(seconds(20));
  EXPECT_EQ(story.state(), State::Rendezvous);
  EXPECT_TRUE(
      story.has_said("2 of 3 nodes are here after 0 s: node 1 (host-b) left: closed the "
                     "connection; giving up in 60 s"))
      << story.all_said();

  (void)story.wait(seconds(60));
  EXPECT_EQ(words_of(*story.end), "lost 69");
  EXPECT_EQ(story.end->reason, "2 of 3 nodes came within 60 s: node 1 (host-b) left: closed the connection");
}

TEST(Replacement, MayComeLater) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.lose(1);
  (void)story.read_signal(0, AttemptOver{});
  (void)story.wait(seconds(100));

  EXPECT_EQ(story.arrive(5, 1),
            "5: admitted as node 1 | reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "5: start 1 as node 1 of 2, slots 2 of 4");
}

TEST(Replacement, IsTheReturnedNodeItself) {
  LeaderStory story = running(restarting(job_of(2, 3)), 3);
  (void)story.lose(1);
  EXPECT_EQ(story.arrive(5, 1), "5: admitted as a spare of a job that runs") << "while the attempt is stopping";
  (void)story.read_signal(0, AttemptOver{});
  (void)story.read_signal(2, AttemptOver{});

  EXPECT_EQ(story.wait(seconds(20)),
            "5: admitted as node 1 | reserve port | 0: start 1 as node 0 of 3, slots 0 of 6 | "
            "5: start 1 as node 1 of 3, slots 2 of 6 | 2: start 1 as node 2 of 3, slots 4 of 6");
}

TEST(Replacement, WaitsAsASpareUntilTheJobStartsAnew) {
  LeaderStory story = running(restarting(job_of(2, 3)), 3);
  (void)story.lose(1);
  (void)story.read_signal(0, AttemptOver{});
  (void)story.read_signal(2, AttemptOver{});
  (void)story.wait(seconds(20));
  ASSERT_EQ(story.state(), State::Running) << "the job is smaller now";
  EXPECT_EQ(story.arrive(5, 1), "5: admitted as a spare of a job that runs");

  EXPECT_NE(story.fail_all(1).find("start"), 0U);
  EXPECT_NE(story.wait(seconds(2)).find("5: start 2 as node 1 of 3"), std::string::npos);
}

TEST(Replacement, KeepsRanksOverRestarts) {
  LeaderStory story = running(restarting(job_of(4)), 4);
  (void)story.fail_all(0);

  EXPECT_EQ(story.leader().nodes(), (std::vector<LinkId>{0, 1, 2, 3}));
  EXPECT_EQ(story.last_start->placement.node_rank.value, 3);
}

TEST(Replacement, IsOmittedWhereTheJobMayShrink) {
  LeaderStory story = running(restarting(job_of(1, 4)), 4);
  (void)story.lose(1);
  (void)story.lose(3);
  (void)story.read_signal(0, AttemptOver{});
  (void)story.read_signal(2, AttemptOver{});

  EXPECT_EQ(story.wait(seconds(20)),
            "reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "2: start 1 as node 1 of 2, slots 2 of 4");
}

TEST(Replacement, ComesFromASpareWithAnotherRank) {
  LeaderStory story = running(restarting(job_of(2, 4)), 2);
  (void)story.arrive(5, 3);
  (void)story.lose(1);
  (void)story.read_signal(0, AttemptOver{});

  EXPECT_EQ(story.wait(seconds(20)),
            "5: admitted as node 3 | reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "5: start 1 as node 1 of 2, slots 2 of 4");
}

TEST(Replacement, ThatIsLostDoesNotFailTheJob) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.arrive(9);
  EXPECT_EQ(story.lose(9), "") << "a spare is nobody's failure";
  EXPECT_EQ(story.state(), State::Running);
}

TEST(Replacement, LosesANodeBetweenAttempts) {
  LeaderStory story = running(restarting(job_of(2, 3)), 3);
  (void)story.lose(2);
  (void)story.read_signal(0, AttemptOver{});
  (void)story.read_signal(1, AttemptOver{});
  ASSERT_EQ(story.state(), State::Resting);
  EXPECT_EQ(story.lose(1), "");

  (void)story.wait(seconds(20));
  EXPECT_EQ(story.state(), State::Rendezvous) << "one node is too few";
  EXPECT_EQ(story.arrive(6, 2).substr(0, 36), "6: admitted as node 2 | reserve port");
}

}  // namespace
}  // namespace muster::gang
