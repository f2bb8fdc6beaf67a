// One attempt of a job, from the first agent to the last goodbye: who is waited for, who is told.
// Admission, restarts, stops and early exits have files of their own.
#include "gang/protocol/leader_story.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

// --- Rendezvous ----------------------------------------------------------------------------------

TEST(Leader, StartsAllNodesWhenTheLastOneIsHere) {
  LeaderStory story(job_of(3));
  EXPECT_EQ(story.first_words, "0: admitted as node 0");
  EXPECT_EQ(story.arrive(7, 2), "7: admitted as node 2");
  EXPECT_EQ(story.state(), State::Rendezvous);

  EXPECT_EQ(story.arrive(8, 1),
            "8: admitted as node 1 | reserve port | "
            "0: start 0 as node 0 of 3, slots 0 of 6 | "
            "8: start 0 as node 1 of 3, slots 2 of 6 | "
            "7: start 0 as node 2 of 3, slots 4 of 6");
  EXPECT_EQ(story.state(), State::Running);
}

TEST(Leader, CountsSlotsBeforeEachNodeWhereNodesDiffer) {
  LeaderStory story(job_of(4));
  for (const auto& [link, rank, slots] : std::vector<std::tuple<LinkId, int, int>>{{1, 3, 8}, {2, 1, 1}, {3, 2, 5}}) {
    Join join = story.join_of(link, rank);
    join.node.slots = slots;
    if (link < 3) {
      (void)story.arrive(link, join);
      continue;
    }
    EXPECT_EQ(story.arrive(link, join),
              "3: admitted as node 2 | reserve port | "
              "0: start 0 as node 0 of 4, slots 0 of 16 | "
              "2: start 0 as node 1 of 4, slots 2 of 16 | "
              "3: start 0 as node 2 of 4, slots 3 of 16 | "
              "1: start 0 as node 3 of 4, slots 8 of 16");
  }
}

TEST(Leader, PublishesItsReachableAddressAndTheReservedPort) {
  LeaderStory story(job_of(2));
  (void)story.arrive(1, 1);

  EXPECT_EQ(story.last_start->placement.master_address, "10.0.0.1");
  EXPECT_EQ(story.last_start->placement.worker_port, story.port);
}

TEST(Leader, PrefersAnAddressThatOthersReachToALoopbackOne) {
  LeaderStory story(job_of(3));
  (void)story.happen(Joined{1, "127.0.0.1", "127.0.0.1", story.join_of(1, 1)});
  (void)story.happen(Joined{2, "10.0.0.9", "10.0.0.7", story.join_of(2, 2)});

  EXPECT_EQ(story.last_start->placement.master_address, "10.0.0.7");
}

TEST(Leader, LeavesTheAddressToThePlanWhereItIsAlone) {
  const LeaderStory story(job_of(1));

  EXPECT_EQ(story.state(), State::Running);
  EXPECT_EQ(story.last_start->placement.master_address, "");
}

TEST(Leader, AssignsMissingRanksByArrivalAndTakesRankZeroItself) {
  LeaderStory story(job_of(3), std::nullopt);
  EXPECT_EQ(story.first_words, "0: admitted as node 0");
  EXPECT_EQ(story.arrive(9), "9: admitted as node 1");
  EXPECT_EQ(story.arrive(4).substr(0, 21), "4: admitted as node 2");
  EXPECT_EQ(story.leader().nodes(), (std::vector<LinkId>{0, 9, 4}));
}

TEST(Leader, StartsNothingUntilItHasAPort) {
  LeaderStory story(job_of(2));
  story.answers_port = false;
  EXPECT_EQ(story.arrive(1, 1), "1: admitted as node 1 | reserve port");
  EXPECT_EQ(story.state(), State::Rendezvous);
  EXPECT_EQ(story.wait(seconds(3)), "") << "one request is enough";

  EXPECT_EQ(story.happen(PortReserved{{4'711}, ""}),
            "0: start 0 as node 0 of 2, slots 0 of 4 | 1: start 0 as node 1 of 2, slots 2 of 4");
}

TEST(Leader, EndsTheJobWhenNoPortCanBeReserved) {
  LeaderStory story(job_of(2));
  story.answers_port = false;
  (void)story.arrive(1, 1);

  EXPECT_EQ(story.happen(PortReserved{{0}, "no port is free"}), "0,1: finish: failed 71");
  EXPECT_EQ(story.end->reason, "no port is free");
}

TEST(Leader, WaitsOnForANodeThatLeavesWhileThePortIsReserved) {
  LeaderStory story(job_of(3));
  story.answers_port = false;
  (void)story.arrive_all(3);
  EXPECT_EQ(story.lose(2), "");

  EXPECT_EQ(story.happen(PortReserved{{4'711}, ""}), "") << "it is not complete any more";
  EXPECT_EQ(story.state(), State::Rendezvous);
  EXPECT_EQ(story.arrive(3, 2), "3: admitted as node 2 | reserve port");
}

TEST(Leader, LetsANodeComeBackWhileThePortIsReserved) {
  LeaderStory story(job_of(2));
  story.answers_port = false;
  (void)story.arrive(1, 1);
  (void)story.lose(1);

  EXPECT_EQ(story.arrive(2, 1), "2: admitted as node 1");
  EXPECT_EQ(story.happen(PortReserved{{4'711}, ""}),
            "0: start 0 as node 0 of 2, slots 0 of 4 | 2: start 0 as node 1 of 2, slots 2 of 4");
}

TEST(Leader, TimesOutAndNamesNodesThatNeverConnected) {
  LeaderStory story(job_of(4));
  (void)story.arrive(1, 1);
  (void)story.arrive(3, 3);

  const std::string text = story.wait(seconds(900));

  EXPECT_TRUE(text.ends_with("0,1,3: finish: incomplete 75")) << text;
  EXPECT_EQ(story.end->reason, "3 of 4 nodes came within 900 s: node 2 never connected");
  EXPECT_EQ(text.find("start"), std::string::npos);
}

TEST(Leader, DistinguishesNodesThatLeftFromThoseThatNeverJoined) {
  GangConfig config = job_of(4);
  config.options.timeout = seconds(20);
  LeaderStory story(config);
  (void)story.arrive(1, 1);
  (void)story.arrive(3, 3);
  (void)story.lose(3);
  EXPECT_TRUE(story.has_said("node 3, host-d (10.0.0.4), left: it closed the connection")) << story.all_said();

  (void)story.wait(seconds(20));

  EXPECT_EQ(story.end->reason,
            "2 of 4 nodes came within 20 s: node 2 never connected; "
            "node 3 (host-d) left: closed the connection");
}

TEST(Leader, NamesHostsThatThePlatformKnowsAndWhetherTheyResolve) {
  GangConfig config = job_of(4);
  config.options.timeout = seconds(20);
  config.hosts = {"llm-0", "llm-1", "llm-2", std::nullopt};
  LeaderStory story(config);
  (void)story.arrive(1, 1);

  EXPECT_NE(story.wait(seconds(18)).find("look up llm-2"), std::string::npos);
  EXPECT_EQ(story.happen(HostsLookedUp{{"llm-2"}}), "");
  (void)story.wait(seconds(2));

  EXPECT_EQ(story.end->reason,
            "2 of 4 nodes came within 20 s: "
            "node 2 (llm-2, a name that does not resolve) never connected; node 3 never connected");
}

TEST(Leader, LogsTheProgressOfTheWaitAndSendsItToAllNodes) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, 1);

  EXPECT_EQ(story.wait(seconds(4)), "");
  EXPECT_EQ(story.wait(seconds(2)), "1: waiting");
  EXPECT_EQ(story.said.back(), "2 of 3 nodes are here after 5 s: node 2 never connected; giving up in 895 s");
  EXPECT_EQ(story.wait(seconds(300)),
            "1: waiting | 1: waiting | 1: waiting | 1: waiting | 1: waiting | 1: waiting | "
            "1: waiting | 1: waiting | 1: waiting | 1: waiting")
      << "every 30 s";
}

TEST(Leader, CallsOnceMoreForNodesWhenTheLeastAreHere) {
  LeaderStory story(job_of(2, 4));
  EXPECT_EQ(story.arrive(1, 1), "1: admitted as node 1");
  (void)story.wait(seconds(29));
  EXPECT_EQ(story.arrive(3, 3), "3: admitted as node 3");
  EXPECT_EQ(story.state(), State::Rendezvous);

  EXPECT_EQ(story.wait(seconds(1)),
            "reserve port | 0: start 0 as node 0 of 3, slots 0 of 6 | "
            "1: start 0 as node 1 of 3, slots 2 of 6 | 3: start 0 as node 2 of 3, slots 4 of 6")
      << "seat 2 is empty, and node ranks are counted without it";
}

TEST(Leader, NeedsNoLastCallWhenTheMostAreHere) {
  LeaderStory story(job_of(2, 3));
  (void)story.arrive(1, 1);

  EXPECT_NE(story.arrive(2, 2).find("start 0"), std::string::npos);
}

TEST(Leader, CallsAgainWhenTooFewWereLeft) {
  LeaderStory story(job_of(2, 4));
  (void)story.arrive(1, 1);
  (void)story.wait(seconds(20));
  (void)story.lose(1);
  (void)story.wait(seconds(20));
  EXPECT_EQ(story.state(), State::Rendezvous);
  (void)story.arrive(2, 1);

  (void)story.wait(seconds(29));
  EXPECT_EQ(story.state(), State::Rendezvous);
  (void)story.wait(seconds(1));
  EXPECT_EQ(story.state(), State::Running);
}

TEST(Leader, StartsWithEnoughNodesAtTheDeadlineAlthoughTheLastCallRuns) {
  GangConfig config = job_of(2, 4);
  config.options.timeout = seconds(20);
  LeaderStory story(config);
  (void)story.wait(seconds(15));
  (void)story.arrive(1, 1);

  (void)story.wait(seconds(4));
  EXPECT_EQ(story.state(), State::Rendezvous);
  (void)story.wait(seconds(1));
  EXPECT_EQ(story.state(), State::Running);
}

TEST(Leader, DoesNotTimeOutWhileACompleteGangReservesItsPort) {
  GangConfig config = job_of(2, 4);
  config.options.timeout = seconds(20);
  LeaderStory story(config);
  story.answers_port = false;
  (void)story.arrive(1, 1);
  (void)story.wait(seconds(25));
  EXPECT_EQ(story.state(), State::Rendezvous);

  (void)story.happen(PortReserved{{4'711}, ""});
  EXPECT_EQ(story.state(), State::Running);
}

TEST(Leader, RecordsWhenAgentsWereStarted) {
  LeaderStory story(job_of(3));
  (void)story.wait(seconds(10));
  Join early = story.join_of(1, 1);
  early.waited_seconds = 9;  // it was there, and could not reach us
  (void)story.arrive(1, early);
  (void)story.wait(seconds(5));
  (void)story.arrive(2, 2);
  (void)story.read_signal(0, StopFromAgent{SIGTERM});

  ASSERT_TRUE(story.end);
  EXPECT_EQ(story.end->gang.nodes, 3);
  EXPECT_DOUBLE_EQ(story.end->gang.arrival_skew_seconds, 15);
  ASSERT_EQ(story.end->gang.slowest.size(), 3U);
  EXPECT_EQ(story.end->gang.slowest[0].host, "host-c");
  EXPECT_DOUBLE_EQ(story.end->gang.slowest[1].seconds, 1);
  EXPECT_EQ(story.end->gang.slowest[2].node.value, 0);
}

// --- Success ------------------------------------------------------------------------------------

TEST(Leader, EndsWithSuccessWhenTheLastNodeHasSucceeded) {
  LeaderStory story = running(2);
  EXPECT_EQ(story.read_signal(1, success_of(2)), "");
  EXPECT_EQ(story.read_signal(1, last_success_of(3)), "");
  EXPECT_EQ(story.read_signal(0, last_success_of(1)), "0,1: stop 0 by SIGTERM, the end is succeeded 0");
  EXPECT_EQ(story.state(), State::Stopping);
  EXPECT_EQ(story.read_signal(0, AttemptOver{}), "");
  EXPECT_EQ(story.read_signal(1, AttemptOver{}), "0,1: finish: succeeded 0");
  EXPECT_EQ(story.state(), State::Finishing);
  EXPECT_EQ(story.lose(1), "dissolve");
  EXPECT_EQ(story.state(), State::Finished);
}

TEST(Leader, CountsANodeWithoutDecidingWorkersAsSucceeded) {
  LeaderStory story = running(2);
  Succeeded none;
  none.is_last = true;
  EXPECT_EQ(story.read_signal(1, none), "");

  EXPECT_EQ(story.read_signal(0, last_success_of(1)), "0,1: stop 0 by SIGTERM, the end is succeeded 0");
}

TEST(Leader, MissesANodeThatServesTheOthers) {
  LeaderStory story = running(2);
  Succeeded none;
  none.is_last = true;
  (void)story.read_signal(1, none);

  EXPECT_NE(story.lose(1).find("lost 69"), std::string::npos);
}

TEST(Leader, DoesNotWaitForNodesThatHaveEnded) {
  LeaderStory story = running(3);
  for (const LinkId link : {0U, 1U, 2U}) {
    (void)story.read_signal(link, last_success_of(static_cast<int>(2 * link + 1)));
    if (link < 2) {
      EXPECT_EQ(story.read_signal(link, AttemptOver{}), "");
    }
  }
  EXPECT_EQ(story.read_signal(2, AttemptOver{}), "0,1,2: finish: succeeded 0");
}

TEST(Leader, IgnoresASuccessThatWasCountedAlready) {
  LeaderStory story = running(2);
  (void)story.read_signal(1, last_success_of(3));
  EXPECT_EQ(story.read_signal(1, last_success_of(3)), "");
  EXPECT_EQ(story.state(), State::Running);
}

// --- The first failure --------------------------------------------------------------------------

TEST(Leader, StopsEveryNodeAtTheFirstFailure) {
  LeaderStory story = running(3);

  EXPECT_EQ(story.read_signal(1, Failed{0, failure_of(3)}), "0,1,2: stop 0 by SIGTERM, the end is failed 9");
  EXPECT_EQ(story.end->first_failure->global_rank.value, 3);
  EXPECT_EQ(story.end->reason, "worker failed");
}

TEST(Leader, TakesFromANodeOnlyWhatConcernsItsOwnRanks) {
  LeaderStory story(with_known_ranks(job_of(2)));
  (void)story.arrive_all(2);

  EXPECT_EQ(story.read_signal(1, Failed{0, failure_of(0)}), "");
  EXPECT_EQ(story.read_signal(1, last_success_of(0)), "");
  EXPECT_EQ(story.state(), State::Running);
  EXPECT_EQ(story.warnings, 1) << "it is said once";
  EXPECT_TRUE(story.has_said("host-b (10.0.0.2) speaks of rank 0, which is not its own; leaving that out"));

  Failure own = failure_of(3);
  own.node = NodeRank{0};
  own.host = "host-a";
  EXPECT_EQ(story.read_signal(1, Failed{0, own}), "0,1: stop 0 by SIGTERM, the end is failed 9");
  EXPECT_EQ(story.end->first_failure, failure_of(3)) << "of the node that the leader knows";

  OtherFailures others;
  others.add(failure_of(1));
  others.add(failure_of(2));
  (void)story.read_signal(1, AttemptOver{0, own, std::nullopt, false, others});
  (void)story.read_signal(0, AttemptOver{});
  EXPECT_EQ(story.end->also_failed.listed, std::vector{failure_of(2)});
  EXPECT_EQ(story.end->also_failed.count, 1);
}

TEST(Leader, KeepsTheFailureThatCameFirst) {
  LeaderStory story = running(3);
  (void)story.read_signal(2, Failed{0, failure_of(5, ExitStatus::signalled(SIGSEGV))});
  EXPECT_EQ(story.read_signal(1, Failed{0, failure_of(2)}), "") << "an echo";
  EXPECT_EQ(story.read_signal(1, AttemptOver{0, failure_of(2), std::nullopt}), "");
  (void)story.read_signal(0, AttemptOver{});

  EXPECT_EQ(story.read_signal(2, AttemptOver{}), "0,1,2: finish: failed 139");
  EXPECT_EQ(story.end->first_failure->global_rank.value, 5);
}

TEST(Leader, TakesTheFirstFailuresLastLinesFromItsNodesEnd) {
  LeaderStory story = running(2);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  Failure whole = failure_of(3);
  whole.last_lines = {"RuntimeError: out of memory"};
  (void)story.read_signal(0, AttemptOver{0, failure_of(0), std::nullopt});
  (void)story.read_signal(1, AttemptOver{0, whole, std::nullopt});

  EXPECT_EQ(story.state(), State::Finishing);
  EXPECT_EQ(story.end->first_failure->last_lines, whole.last_lines);
}

TEST(Leader, SendsTheStopWithoutTheWorkersLastLines) {
  LeaderStory story = running(2);
  Failure failure = failure_of(3);
  failure.last_lines = {"RuntimeError: out of memory"};
  failure.error_message = "RuntimeError";
  (void)story.read_signal(1, Failed{0, failure});
  EXPECT_TRUE(story.end->first_failure->last_lines.empty()) << "the stop is urgent";
  EXPECT_TRUE(story.end->first_failure->error_message.empty());

  (void)story.end_all();
  EXPECT_EQ(story.end->first_failure->last_lines, failure.last_lines);
  EXPECT_EQ(story.end->first_failure->error_message, failure.error_message);
}

TEST(Leader, EndsWithAnErrorWhateverAFailureSays) {
  LeaderStory story = running(2);
  EXPECT_EQ(story.read_signal(1, Failed{0, failure_of(3, ExitStatus::exited(0))}),
            "0,1: stop 0 by SIGTERM, the end is failed 1");
}

TEST(Leader, ReportsAWorkerThatCouldNotBeStarted) {
  LeaderStory story = running(2);
  Failure failure = failure_of(2);
  failure.status.reset();
  failure.exit_code = 127;
  failure.start_error = "executing 'pyhton': No such file or directory";

  EXPECT_EQ(story.read_signal(1, Failed{0, failure}), "0,1: stop 0 by SIGTERM, the end is failed 127");
  EXPECT_EQ(story.end->reason, "worker not started");
}

TEST(Leader, SaysThatRankZeroHadEndedBeforeTheFailure) {
  LeaderStory story = running(2);
  (void)story.read_signal(0, success_of(0));
  (void)story.read_signal(1, Failed{0, failure_of(3)});

  EXPECT_TRUE(story.end->rank_zero_had_ended);
}

TEST(Leader, DoesNotBlameAnEarlyExitForAFailureOfRankZero) {
  LeaderStory story = running(2);
  (void)story.read_signal(1, success_of(3));
  (void)story.read_signal(0, Failed{0, failure_of(0)});

  EXPECT_FALSE(story.end->rank_zero_had_ended);
}

Failure lost_peer(int rank) {
  Failure failure = failure_of(rank);
  failure.last_lines = {"RuntimeError: Connection closed by peer [10.0.0.2]:5123"};
  return failure;
}

TEST(Leader, NamesARankThatHadLeftBesideTheVictimWhateverComesFirst) {
  LeaderStory story = running(2);
  (void)story.read_signal(1, Failed{0, lost_peer(2)});
  (void)story.read_signal(0, success_of(1));
  (void)story.read_signal(0, success_of(0));
  (void)story.end_all();

  ASSERT_TRUE(story.end->left_early.has_value());
  EXPECT_EQ(story.end->left_early->global_rank.value, 1);
  EXPECT_EQ(story.end->left_early->node.value, 0);
}

TEST(Leader, NamesNobodyWhoHadLeftBesideAFailureOfItsOwn) {
  LeaderStory own_error = running(2);
  (void)own_error.read_signal(0, success_of(1));
  (void)own_error.read_signal(1, Failed{0, failure_of(2)});
  (void)own_error.end_all();
  EXPECT_FALSE(own_error.end->left_early.has_value());

  LeaderStory other_role = running(2);
  Succeeded evaluator = success_of(1);
  evaluator.role = "evaluator";
  (void)other_role.read_signal(0, evaluator);
  (void)other_role.read_signal(1, Failed{0, lost_peer(2)});
  (void)other_role.end_all();
  EXPECT_FALSE(other_role.end->left_early.has_value());
}

TEST(Leader, IgnoresWhatBelongsToAnotherAttempt) {
  LeaderStory story = running(2);
  EXPECT_EQ(story.read_signal(1, Failed{1, failure_of(3)}), "");
  EXPECT_EQ(story.read_signal(1, Failed{-1, failure_of(3)}), "");
  EXPECT_EQ(story.read_signal(1, last_success_of(3, 7)), "");
  EXPECT_EQ(story.read_signal(1, AttemptOver{3, std::nullopt, std::nullopt}), "");
  EXPECT_EQ(story.state(), State::Running);

  (void)story.read_signal(0, last_success_of(1));
  EXPECT_EQ(story.state(), State::Running) << "node 1 has not succeeded";
}

TEST(Leader, CountsAnEndOnce) {
  LeaderStory story = running(2);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  EXPECT_EQ(story.read_signal(1, AttemptOver{}), "");
  EXPECT_EQ(story.read_signal(1, AttemptOver{}), "");
  EXPECT_EQ(story.state(), State::Stopping);
}

// --- An agent is lost ---------------------------------------------------------------------------

TEST(Leader, EndsAJobThatLostANode) {
  LeaderStory story = running(3);

  EXPECT_EQ(story.lose(1), "0,2: stop 0 by SIGTERM, the end is lost 69");
  EXPECT_EQ(story.end->reason, "node 1, host-b (10.0.0.2), was lost: it closed the connection");
  (void)story.read_signal(0, AttemptOver{});
  EXPECT_EQ(story.read_signal(2, AttemptOver{}), "0,2: finish: lost 69") << "the lost one is not waited for";
}

TEST(Leader, NoticesSilenceAndDropsTheLink) {
  LeaderStory story = running(2);
  story.silence(1);
  EXPECT_EQ(story.wait(seconds(8)), "");
  const Instant before = story.now();

  EXPECT_EQ(story.wait(seconds(2)), "0: stop 0 by SIGTERM, the end is lost 69 | drop 1");
  EXPECT_LE(story.now() - before, seconds(2));
  EXPECT_EQ(story.end->reason, "node 1, host-b (10.0.0.2), was lost: it was silent for 8 s");
}

TEST(Leader, AnswersEachBeat) {
  LeaderStory story = running(2);
  EXPECT_EQ(story.read_signal(1, Heartbeat{}), "1: beat");
}

TEST(Leader, DoesNotCountASucceededNodeAsLost) {
  LeaderStory story = running(3);
  (void)story.read_signal(1, last_success_of(3));

  EXPECT_EQ(story.lose(1), "");
  EXPECT_EQ(story.state(), State::Running);
  (void)story.read_signal(0, last_success_of(1));
  EXPECT_EQ(story.read_signal(2, last_success_of(5)), "0,2: stop 0 by SIGTERM, the end is succeeded 0");
}

TEST(Leader, DoesNotCountASucceededAndEndedNodeAsLost) {
  LeaderStory story = running(2);
  (void)story.read_signal(1, last_success_of(3));
  (void)story.read_signal(1, AttemptOver{});
  EXPECT_EQ(story.lose(1), "");

  EXPECT_EQ(story.read_signal(0, last_success_of(1)), "0: stop 0 by SIGTERM, the end is succeeded 0");
  EXPECT_EQ(story.read_signal(0, AttemptOver{}), "0: finish: succeeded 0 | dissolve");
}

TEST(Leader, KeepsTheVerdictWhenANodeIsLostWhileStopping) {
  LeaderStory story = running(3);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  EXPECT_EQ(story.lose(1), "");
  (void)story.read_signal(0, AttemptOver{});

  EXPECT_EQ(story.read_signal(2, AttemptOver{}), "0,2: finish: failed 9");
}

TEST(Leader, FinishesWhenTheLastAwaitedNodeIsLost) {
  LeaderStory story = running(2);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  (void)story.read_signal(0, AttemptOver{});

  EXPECT_EQ(story.lose(1), "0: finish: failed 9 | dissolve");
}

TEST(Leader, DisconnectsNodesThatSendInvalidMessages) {
  LeaderStory story = running(2);
  EXPECT_EQ(story.read_signal(1, Stop{}), "0: stop 0 by SIGTERM, the end is lost 69 | drop 1");
  EXPECT_EQ(story.read_signal(1, Failed{0, failure_of(3)}), "") << "it was on its way";
}

TEST(Leader, DisconnectsANodeThatJoinsTwiceOnOneLink) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, 1);
  EXPECT_EQ(story.read_signal(1, story.join_of(1, 2)), "drop 1");
  EXPECT_EQ(story.state(), State::Rendezvous);
}

// --- A leader that was asleep -------------------------------------------------------------------

TEST(Leader, LosesNoNodeAfterItsOwnPause) {
  LeaderStory story = running(3);
  story.sleep(seconds(60));

  EXPECT_EQ(story.wait(seconds(20)), "") << "what they said meanwhile is still to be read";
  EXPECT_EQ(story.state(), State::Running);
}

TEST(Leader, NoticesSilenceSoonAfterItWasAsleep) {
  LeaderStory story = running(3);
  story.sleep(seconds(60));
  (void)story.read_signal(1, Heartbeat{});  // read before the timer is served
  (void)story.read_signal(2, Heartbeat{});
  story.silence(2);

  (void)story.wait(seconds(10));
  EXPECT_EQ(story.end->reason, "node 2, host-c (10.0.0.3), was lost: it was silent for 8 s");
}

TEST(Leader, NoticesSilenceOfTheFirstAgentAfterALongTimeAlone) {
  LeaderStory story(job_of(3));
  (void)story.wait(seconds(100));
  (void)story.arrive(1, 1);
  story.silence(1);

  (void)story.wait(seconds(10));
  EXPECT_TRUE(story.has_said("left: it was silent for 8 s")) << story.all_said();
}

// --- The end ------------------------------------------------------------------------------------

TEST(Leader, WaitsForGoodbyesWithATimeout) {
  LeaderStory story = running(3);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  (void)story.end_all();
  EXPECT_EQ(story.lose(1), "");

  EXPECT_EQ(story.wait(seconds(4)), "");
  EXPECT_EQ(story.wait(seconds(1)), "drop 0 | drop 2 | dissolve");
  EXPECT_EQ(story.state(), State::Finished);
}

TEST(Leader, KnowsItsNodesAlsoWhenOneHasLeft) {
  LeaderStory story = running(3);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  (void)story.end_all();
  (void)story.lose(1);

  std::vector<std::string> addresses;
  for (const ExchangeNode& node : story.leader().exchange_nodes()) {
    addresses.push_back(node.address);
  }
  EXPECT_EQ(addresses, (std::vector<std::string>{"10.0.0.1", "", "10.0.0.3"}));
}

TEST(Leader, DoesNothingAnyMoreWhenItIsFinished) {
  LeaderStory story = running(1);
  (void)story.read_signal(0, last_success_of(1));
  (void)story.read_signal(0, AttemptOver{});
  ASSERT_EQ(story.state(), State::Finished);

  EXPECT_EQ(story.arrive(5, 0), "");
  EXPECT_EQ(story.read_signal(0, StopFromAgent{SIGTERM}), "");
  EXPECT_EQ(story.happen(PortReserved{{0}, "late"}), "");
  EXPECT_EQ(story.happen(Tick{}), "");
  EXPECT_EQ(story.leader().next_wake(), std::nullopt);
}

TEST(Leader, NeverChangesAnEndAlreadySent) {
  LeaderStory story(job_of(2));
  story.answers_port = false;
  (void)story.arrive(1, 1);
  EXPECT_EQ(story.read_signal(0, StopFromAgent{SIGINT}), "0,1: finish: stopped 130");

  EXPECT_EQ(story.happen(PortReserved{{0}, "no port is free"}), "");
  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM}), "");
}

// --- Time ---------------------------------------------------------------------------------------

TEST(Leader, NeverWakesWhileAJobOfOneNodeRuns) {
  LeaderStory story = running(1);
  EXPECT_EQ(story.leader().next_wake(), std::nullopt);
  (void)story.read_signal(0, Failed{0, failure_of(1)});
  EXPECT_EQ(story.leader().next_wake(), std::nullopt);
  EXPECT_EQ(story.read_signal(0, AttemptOver{}), "0: finish: failed 9 | dissolve");
  EXPECT_EQ(story.leader().next_wake(), std::nullopt);
}

TEST(Leader, WakesForSilenceOnlyWhileOthersAreThere) {
  LeaderStory story = running(2);
  ASSERT_TRUE(story.leader().next_wake());
  EXPECT_LE(*story.leader().next_wake() - story.now(), seconds(1));
  (void)story.lose(1);

  EXPECT_EQ(story.leader().next_wake(), std::nullopt) << "only an end is waited for";
}

TEST(Leader, WaitsForAPortWithoutBeingWokenAgainAndAgain) {
  LeaderStory story(job_of(2, 4));
  story.answers_port = false;
  (void)story.arrive(1, 1);
  (void)story.wait(seconds(31));
  story.wakes = 0;

  (void)story.wait(seconds(10));
  EXPECT_LE(story.wakes, 12);
}

}  // namespace
}  // namespace muster::gang
