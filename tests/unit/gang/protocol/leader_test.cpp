// One attempt of a job, from the first agent to the last goodbye: who is waited for, who is told.
// Admission, restarts, stops and early exits have files of their own.
#include "gang/protocol/leader_scenario.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

// --- Rendezvous ----------------------------------------------------------------------------------

TEST(Leader, StartsAllNodesWhenTheLastOneIsHere) {
  LeaderScenario scenario(job_of(3));
  EXPECT_EQ(scenario.first_words, "0: admitted as node 0");
  EXPECT_EQ(scenario.arrive(7, 2), "7: admitted as node 2");
  EXPECT_EQ(scenario.state(), State::Rendezvous);

  EXPECT_EQ(scenario.arrive(8, 1),
            "8: admitted as node 1 | reserve port | "
            "0: start 0 as node 0 of 3, slots 0 of 6 | "
            "8: start 0 as node 1 of 3, slots 2 of 6 | "
            "7: start 0 as node 2 of 3, slots 4 of 6");
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(Leader, CountsSlotsBeforeEachNodeWhereNodesDiffer) {
  LeaderScenario scenario(job_of(4));
  for (const auto& [link, rank, slots] : std::vector<std::tuple<LinkId, int, int>>{{1, 3, 8}, {2, 1, 1}, {3, 2, 5}}) {
    Join join = scenario.join_of(link, rank);
    join.node.slots = slots;
    if (link < 3) {
      (void)scenario.arrive(link, join);
      continue;
    }
    EXPECT_EQ(scenario.arrive(link, join),
              "3: admitted as node 2 | reserve port | "
              "0: start 0 as node 0 of 4, slots 0 of 16 | "
              "2: start 0 as node 1 of 4, slots 2 of 16 | "
              "3: start 0 as node 2 of 4, slots 3 of 16 | "
              "1: start 0 as node 3 of 4, slots 8 of 16");
  }
}

TEST(Leader, PublishesItsReachableAddressAndTheReservedPort) {
  LeaderScenario scenario(job_of(2));
  (void)scenario.arrive(1, 1);

  EXPECT_EQ(scenario.last_start->placement.master_address, "10.0.0.1");
  EXPECT_EQ(scenario.last_start->placement.worker_port, scenario.port);
}

TEST(Leader, PrefersAnAddressThatOthersReachToALoopbackOne) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.happen(Joined{1, "127.0.0.1", "127.0.0.1", scenario.join_of(1, 1)});
  (void)scenario.happen(Joined{2, "10.0.0.9", "10.0.0.7", scenario.join_of(2, 2)});

  EXPECT_EQ(scenario.last_start->placement.master_address, "10.0.0.7");
}

TEST(Leader, LeavesTheAddressToThePlanWhereItIsAlone) {
  const LeaderScenario scenario(job_of(1));

  EXPECT_EQ(scenario.state(), State::Running);
  EXPECT_EQ(scenario.last_start->placement.master_address, "");
}

TEST(Leader, AssignsMissingRanksByArrivalAndTakesRankZeroItself) {
  LeaderScenario scenario(job_of(3), std::nullopt);
  EXPECT_EQ(scenario.first_words, "0: admitted as node 0");
  EXPECT_EQ(scenario.arrive(9), "9: admitted as node 1");
  EXPECT_EQ(scenario.arrive(4).substr(0, 21), "4: admitted as node 2");
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 9, 4}));
}

TEST(Leader, StartsNothingUntilItHasAPort) {
  LeaderScenario scenario(job_of(2));
  scenario.answers_port = false;
  EXPECT_EQ(scenario.arrive(1, 1), "1: admitted as node 1 | reserve port");
  EXPECT_EQ(scenario.state(), State::Rendezvous);
  EXPECT_EQ(scenario.wait(seconds(3)), "") << "one request is enough";

  EXPECT_EQ(scenario.happen(PortReserved{{4'711}, ""}),
            "0: start 0 as node 0 of 2, slots 0 of 4 | 1: start 0 as node 1 of 2, slots 2 of 4");
}

TEST(Leader, EndsTheJobWhenNoPortCanBeReserved) {
  LeaderScenario scenario(job_of(2));
  scenario.answers_port = false;
  (void)scenario.arrive(1, 1);

  EXPECT_EQ(scenario.happen(PortReserved{{0}, "no port is free"}), "0,1: finish: failed 71");
  EXPECT_EQ(scenario.end->reason, "no port is free");
}

TEST(Leader, WaitsOnForANodeThatLeavesWhileThePortIsReserved) {
  LeaderScenario scenario(job_of(3));
  scenario.answers_port = false;
  (void)scenario.arrive_all(3);
  EXPECT_EQ(scenario.lose(2), "");

  EXPECT_EQ(scenario.happen(PortReserved{{4'711}, ""}), "") << "it is not complete any more";
  EXPECT_EQ(scenario.state(), State::Rendezvous);
  EXPECT_EQ(scenario.arrive(3, 2), "3: admitted as node 2 | reserve port");
}

TEST(Leader, LetsANodeComeBackWhileThePortIsReserved) {
  LeaderScenario scenario(job_of(2));
  scenario.answers_port = false;
  (void)scenario.arrive(1, 1);
  (void)scenario.lose(1);

  EXPECT_EQ(scenario.arrive(2, 1), "2: admitted as node 1");
  EXPECT_EQ(scenario.happen(PortReserved{{4'711}, ""}),
            "0: start 0 as node 0 of 2, slots 0 of 4 | 2: start 0 as node 1 of 2, slots 2 of 4");
}

TEST(Leader, TimesOutAndNamesNodesThatNeverConnected) {
  LeaderScenario scenario(job_of(4));
  (void)scenario.arrive(1, 1);
  (void)scenario.arrive(3, 3);

  const std::string text = scenario.wait(seconds(900));

  EXPECT_TRUE(text.ends_with("0,1,3: finish: incomplete 75")) << text;
  EXPECT_EQ(scenario.end->reason, "3 of 4 nodes came within 900 s: node 2 never connected");
  EXPECT_EQ(text.find("start"), std::string::npos);
}

TEST(Leader, DistinguishesNodesThatLeftFromThoseThatNeverJoined) {
  GangConfig config = job_of(4);
  config.options.timeout = seconds(20);
  LeaderScenario scenario(config);
  (void)scenario.arrive(1, 1);
  (void)scenario.arrive(3, 3);
  (void)scenario.lose(3);
  EXPECT_TRUE(scenario.has_said("node 3, host-d (10.0.0.4), left: it closed the connection")) << scenario.all_said();

  (void)scenario.wait(seconds(20));

  EXPECT_EQ(scenario.end->reason,
            "2 of 4 nodes came within 20 s: node 2 never connected; "
            "node 3 (host-d) left: closed the connection");
}

TEST(Leader, NamesHostsThatThePlatformKnowsAndWhetherTheyResolve) {
  GangConfig config = job_of(4);
  config.options.timeout = seconds(20);
  config.hosts = {"llm-0", "llm-1", "llm-2", std::nullopt};
  LeaderScenario scenario(config);
  (void)scenario.arrive(1, 1);

  EXPECT_NE(scenario.wait(seconds(18)).find("look up llm-2"), std::string::npos);
  EXPECT_EQ(scenario.happen(HostsLookedUp{{"llm-2"}}), "");
  (void)scenario.wait(seconds(2));

  EXPECT_EQ(scenario.end->reason,
            "2 of 4 nodes came within 20 s: "
            "node 2 (llm-2, a name that does not resolve) never connected; node 3 never connected");
}

TEST(Leader, LogsTheProgressOfTheWaitAndSendsItToAllNodes) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.arrive(1, 1);

  EXPECT_EQ(scenario.wait(seconds(4)), "");
  EXPECT_EQ(scenario.wait(seconds(2)), "1: waiting");
  EXPECT_EQ(scenario.said.back(), "2 of 3 nodes are here after 5 s: node 2 never connected; giving up in 895 s");
  EXPECT_EQ(scenario.wait(seconds(300)),
            "1: waiting | 1: waiting | 1: waiting | 1: waiting | 1: waiting | 1: waiting | "
            "1: waiting | 1: waiting | 1: waiting | 1: waiting")
      << "every 30 s";
}

TEST(Leader, CallsOnceMoreForNodesWhenTheLeastAreHere) {
  LeaderScenario scenario(job_of(2, 4));
  EXPECT_EQ(scenario.arrive(1, 1), "1: admitted as node 1");
  (void)scenario.wait(seconds(29));
  EXPECT_EQ(scenario.arrive(3, 3), "3: admitted as node 3");
  EXPECT_EQ(scenario.state(), State::Rendezvous);

  EXPECT_EQ(scenario.wait(seconds(1)),
            "reserve port | 0: start 0 as node 0 of 3, slots 0 of 6 | "
            "1: start 0 as node 1 of 3, slots 2 of 6 | 3: start 0 as node 2 of 3, slots 4 of 6")
      << "seat 2 is empty, and node ranks are counted without it";
}

TEST(Leader, NeedsNoLastCallWhenTheMostAreHere) {
  LeaderScenario scenario(job_of(2, 3));
  (void)scenario.arrive(1, 1);

  EXPECT_NE(scenario.arrive(2, 2).find("start 0"), std::string::npos);
}

TEST(Leader, CallsAgainWhenTooFewWereLeft) {
  LeaderScenario scenario(job_of(2, 4));
  (void)scenario.arrive(1, 1);
  (void)scenario.wait(seconds(20));
  (void)scenario.lose(1);
  (void)scenario.wait(seconds(20));
  EXPECT_EQ(scenario.state(), State::Rendezvous);
  (void)scenario.arrive(2, 1);

  (void)scenario.wait(seconds(29));
  EXPECT_EQ(scenario.state(), State::Rendezvous);
  (void)scenario.wait(seconds(1));
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(Leader, StartsWithEnoughNodesAtTheDeadlineAlthoughTheLastCallRuns) {
  GangConfig config = job_of(2, 4);
  config.options.timeout = seconds(20);
  LeaderScenario scenario(config);
  (void)scenario.wait(seconds(15));
  (void)scenario.arrive(1, 1);

  (void)scenario.wait(seconds(4));
  EXPECT_EQ(scenario.state(), State::Rendezvous);
  (void)scenario.wait(seconds(1));
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(Leader, DoesNotTimeOutWhileACompleteGangReservesItsPort) {
  GangConfig config = job_of(2, 4);
  config.options.timeout = seconds(20);
  LeaderScenario scenario(config);
  scenario.answers_port = false;
  (void)scenario.arrive(1, 1);
  (void)scenario.wait(seconds(25));
  EXPECT_EQ(scenario.state(), State::Rendezvous);

  (void)scenario.happen(PortReserved{{4'711}, ""});
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(Leader, RecordsWhenAgentsWereStarted) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.wait(seconds(10));
  Join early = scenario.join_of(1, 1);
  early.waited_seconds = 9;  // it was there, and could not reach us
  (void)scenario.arrive(1, early);
  (void)scenario.wait(seconds(5));
  (void)scenario.arrive(2, 2);
  (void)scenario.receive(0, StopFromAgent{SIGTERM});

  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(scenario.end->gang.nodes, 3);
  EXPECT_DOUBLE_EQ(scenario.end->gang.arrival_skew_seconds, 15);
  ASSERT_EQ(scenario.end->gang.slowest.size(), 3U);
  EXPECT_EQ(scenario.end->gang.slowest[0].host, "host-c");
  EXPECT_DOUBLE_EQ(scenario.end->gang.slowest[1].seconds, 1);
  EXPECT_EQ(scenario.end->gang.slowest[2].node.value, 0);
}

TEST(Leader, SaysWhoAskedForTheEnd) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(1, StopFromAgent{SIGTERM, false, {}, "user 1000, pid 4711"});
  (void)scenario.receive(0, AttemptOver{});
  (void)scenario.receive(1, AttemptOver{});

  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(scenario.end->reason, "stopped by SIGTERM: muster stop on node 1 (user 1000, pid 4711)");
}

// --- Success ------------------------------------------------------------------------------------

TEST(Leader, EndsWithSuccessWhenTheLastNodeHasSucceeded) {
  LeaderScenario scenario = running(2);
  EXPECT_EQ(scenario.receive(1, success_of(2)), "");
  EXPECT_EQ(scenario.receive(1, last_success_of(3)), "");
  EXPECT_EQ(scenario.receive(0, last_success_of(1)), "0,1: stop 0 by SIGTERM, the end is succeeded 0");
  EXPECT_EQ(scenario.state(), State::Stopping);
  EXPECT_EQ(scenario.receive(0, AttemptOver{}), "");
  EXPECT_EQ(scenario.receive(1, AttemptOver{}), "0,1: finish: succeeded 0");
  EXPECT_EQ(scenario.state(), State::Finishing);
  EXPECT_EQ(scenario.lose(1), "dissolve");
  EXPECT_EQ(scenario.state(), State::Finished);
}

TEST(Leader, CountsANodeWithoutDecidingWorkersAsSucceeded) {
  LeaderScenario scenario = running(2);
  Succeeded none;
  none.is_last = true;
  EXPECT_EQ(scenario.receive(1, none), "");

  EXPECT_EQ(scenario.receive(0, last_success_of(1)), "0,1: stop 0 by SIGTERM, the end is succeeded 0");
}

TEST(Leader, MissesANodeThatServesTheOthers) {
  LeaderScenario scenario = running(2);
  Succeeded none;
  none.is_last = true;
  (void)scenario.receive(1, none);

  EXPECT_NE(scenario.lose(1).find("lost 69"), std::string::npos);
}

TEST(Leader, DoesNotWaitForNodesThatHaveEnded) {
  LeaderScenario scenario = running(3);
  for (const LinkId link : {0U, 1U, 2U}) {
    (void)scenario.receive(link, last_success_of(static_cast<int>(2 * link + 1)));
    if (link < 2) {
      EXPECT_EQ(scenario.receive(link, AttemptOver{}), "");
    }
  }
  EXPECT_EQ(scenario.receive(2, AttemptOver{}), "0,1,2: finish: succeeded 0");
}

TEST(Leader, IgnoresASuccessThatWasCountedAlready) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(1, last_success_of(3));
  EXPECT_EQ(scenario.receive(1, last_success_of(3)), "");
  EXPECT_EQ(scenario.state(), State::Running);
}

// --- The first failure --------------------------------------------------------------------------

TEST(Leader, StopsEveryNodeAtTheFirstFailure) {
  LeaderScenario scenario = running(3);

  EXPECT_EQ(scenario.receive(1, Failed{0, failure_of(3)}), "0,1,2: stop 0 by SIGTERM, the end is failed 9");
  EXPECT_EQ(scenario.end->first_failure->global_rank.value, 3);
  EXPECT_EQ(scenario.end->reason, "worker failed");
}

TEST(Leader, TakesFromANodeOnlyWhatConcernsItsOwnRanks) {
  LeaderScenario scenario(with_known_ranks(job_of(2)));
  (void)scenario.arrive_all(2);

  EXPECT_EQ(scenario.receive(1, Failed{0, failure_of(0)}), "");
  EXPECT_EQ(scenario.receive(1, last_success_of(0)), "");
  EXPECT_EQ(scenario.state(), State::Running);
  EXPECT_EQ(scenario.warnings, 1) << "it is said once";
  EXPECT_TRUE(scenario.has_said("host-b (10.0.0.2) reports rank 0, which is not on this node; ignoring this report"));

  Failure own = failure_of(3);
  own.node = NodeRank{0};
  own.host = "host-a";
  EXPECT_EQ(scenario.receive(1, Failed{0, own}), "0,1: stop 0 by SIGTERM, the end is failed 9");
  EXPECT_EQ(scenario.end->first_failure, failure_of(3)) << "of the node that the leader knows";

  OtherFailures others;
  others.add(failure_of(1));
  others.add(failure_of(2));
  (void)scenario.receive(1, AttemptOver{0, own, std::nullopt, false, others});
  (void)scenario.receive(0, AttemptOver{});
  EXPECT_EQ(scenario.end->also_failed.listed, std::vector{failure_of(2)});
  EXPECT_EQ(scenario.end->also_failed.count, 1);
}

TEST(Leader, KeepsTheFailureThatCameFirst) {
  LeaderScenario scenario = running(3);
  (void)scenario.receive(2, Failed{0, failure_of(5, ExitStatus::signalled(SIGSEGV))});
  EXPECT_EQ(scenario.receive(1, Failed{0, failure_of(2)}), "") << "an echo";
  EXPECT_EQ(scenario.receive(1, AttemptOver{0, failure_of(2), std::nullopt}), "");
  (void)scenario.receive(0, AttemptOver{});

  EXPECT_EQ(scenario.receive(2, AttemptOver{}), "0,1,2: finish: failed 139");
  EXPECT_EQ(scenario.end->first_failure->global_rank.value, 5);
}

TEST(Leader, TakesTheFirstFailuresLastLinesFromItsNodesEnd) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  Failure whole = failure_of(3);
  whole.last_lines = {"RuntimeError: out of memory"};
  (void)scenario.receive(0, AttemptOver{0, failure_of(0), std::nullopt});
  (void)scenario.receive(1, AttemptOver{0, whole, std::nullopt});

  EXPECT_EQ(scenario.state(), State::Finishing);
  EXPECT_EQ(scenario.end->first_failure->last_lines, whole.last_lines);
}

TEST(Leader, SendsTheStopWithoutTheWorkersLastLines) {
  LeaderScenario scenario = running(2);
  Failure failure = failure_of(3);
  failure.last_lines = {"RuntimeError: out of memory"};
  failure.error_message = "RuntimeError";
  (void)scenario.receive(1, Failed{0, failure});
  EXPECT_TRUE(scenario.end->first_failure->last_lines.empty()) << "the stop is urgent";
  EXPECT_TRUE(scenario.end->first_failure->error_message.empty());

  (void)scenario.end_all();
  EXPECT_EQ(scenario.end->first_failure->last_lines, failure.last_lines);
  EXPECT_EQ(scenario.end->first_failure->error_message, failure.error_message);
}

TEST(Leader, EndsWithAnErrorWhateverAFailureSays) {
  LeaderScenario scenario = running(2);
  EXPECT_EQ(scenario.receive(1, Failed{0, failure_of(3, ExitStatus::exited(0))}),
            "0,1: stop 0 by SIGTERM, the end is failed 1");
}

TEST(Leader, ReportsAWorkerThatCouldNotBeStarted) {
  LeaderScenario scenario = running(2);
  Failure failure = failure_of(2);
  failure.status.reset();
  failure.exit_code = 127;
  failure.start_error = "executing 'pyhton': No such file or directory";

  EXPECT_EQ(scenario.receive(1, Failed{0, failure}), "0,1: stop 0 by SIGTERM, the end is failed 127");
  EXPECT_EQ(scenario.end->reason, "worker not started");
}

TEST(Leader, SaysThatRankZeroHadEndedBeforeTheFailure) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(0, success_of(0));
  (void)scenario.receive(1, Failed{0, failure_of(3)});

  EXPECT_TRUE(scenario.end->rank_zero_had_ended);
}

TEST(Leader, DoesNotBlameAnEarlyExitForAFailureOfRankZero) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(1, success_of(3));
  (void)scenario.receive(0, Failed{0, failure_of(0)});

  EXPECT_FALSE(scenario.end->rank_zero_had_ended);
}

Failure lost_peer(int rank) {
  Failure failure = failure_of(rank);
  failure.last_lines = {"RuntimeError: Connection closed by peer [10.0.0.2]:5123"};
  return failure;
}

TEST(Leader, NamesARankThatHadLeftBesideTheVictimWhateverComesFirst) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(1, Failed{0, lost_peer(2)});
  (void)scenario.receive(0, success_of(1));
  (void)scenario.receive(0, success_of(0));
  (void)scenario.end_all();

  ASSERT_TRUE(scenario.end->left_early.has_value());
  EXPECT_EQ(scenario.end->left_early->global_rank.value, 1);
  EXPECT_EQ(scenario.end->left_early->node.value, 0);
}

TEST(Leader, NamesNobodyWhoHadLeftBesideAFailureOfItsOwn) {
  LeaderScenario own_error = running(2);
  (void)own_error.receive(0, success_of(1));
  (void)own_error.receive(1, Failed{0, failure_of(2)});
  (void)own_error.end_all();
  EXPECT_FALSE(own_error.end->left_early.has_value());

  LeaderScenario other_role = running(2);
  Succeeded evaluator = success_of(1);
  evaluator.role = "evaluator";
  (void)other_role.receive(0, evaluator);
  (void)other_role.receive(1, Failed{0, lost_peer(2)});
  (void)other_role.end_all();
  EXPECT_FALSE(other_role.end->left_early.has_value());
}

TEST(Leader, IgnoresWhatBelongsToAnotherAttempt) {
  LeaderScenario scenario = running(2);
  EXPECT_EQ(scenario.receive(1, Failed{1, failure_of(3)}), "");
  EXPECT_EQ(scenario.receive(1, Failed{-1, failure_of(3)}), "");
  EXPECT_EQ(scenario.receive(1, last_success_of(3, 7)), "");
  EXPECT_EQ(scenario.receive(1, AttemptOver{3, std::nullopt, std::nullopt}), "");
  EXPECT_EQ(scenario.state(), State::Running);

  (void)scenario.receive(0, last_success_of(1));
  EXPECT_EQ(scenario.state(), State::Running) << "node 1 has not succeeded";
}

TEST(Leader, CountsAnEndOnce) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  EXPECT_EQ(scenario.receive(1, AttemptOver{}), "");
  EXPECT_EQ(scenario.receive(1, AttemptOver{}), "");
  EXPECT_EQ(scenario.state(), State::Stopping);
}

// --- An agent is lost ---------------------------------------------------------------------------

TEST(Leader, EndsAJobThatLostANode) {
  LeaderScenario scenario = running(3);

  EXPECT_EQ(scenario.lose(1), "0,2: stop 0 by SIGTERM, the end is lost 69");
  EXPECT_EQ(scenario.end->reason, "node 1, host-b (10.0.0.2), was lost: it closed the connection");
  (void)scenario.receive(0, AttemptOver{});
  EXPECT_EQ(scenario.receive(2, AttemptOver{}), "0,2: finish: lost 69") << "the lost one is not waited for";
}

TEST(Leader, NoticesSilenceAndDropsTheLink) {
  LeaderScenario scenario = running(2);
  scenario.silence(1);
  EXPECT_EQ(scenario.wait(seconds(8)), "");
  const Instant before = scenario.now();

  EXPECT_EQ(scenario.wait(seconds(2)), "0: stop 0 by SIGTERM, the end is lost 69 | drop 1");
  EXPECT_LE(scenario.now() - before, seconds(2));
  EXPECT_EQ(scenario.end->reason, "node 1, host-b (10.0.0.2), was lost: it was silent for 8 s");
}

TEST(Leader, AnswersEachBeat) {
  LeaderScenario scenario = running(2);
  EXPECT_EQ(scenario.receive(1, Heartbeat{}), "1: beat");
}

TEST(Leader, DoesNotCountASucceededNodeAsLost) {
  LeaderScenario scenario = running(3);
  (void)scenario.receive(1, last_success_of(3));

  EXPECT_EQ(scenario.lose(1), "");
  EXPECT_EQ(scenario.state(), State::Running);
  (void)scenario.receive(0, last_success_of(1));
  EXPECT_EQ(scenario.receive(2, last_success_of(5)), "0,2: stop 0 by SIGTERM, the end is succeeded 0");
}

TEST(Leader, DoesNotCountASucceededAndEndedNodeAsLost) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(1, last_success_of(3));
  (void)scenario.receive(1, AttemptOver{});
  EXPECT_EQ(scenario.lose(1), "");

  EXPECT_EQ(scenario.receive(0, last_success_of(1)), "0: stop 0 by SIGTERM, the end is succeeded 0");
  EXPECT_EQ(scenario.receive(0, AttemptOver{}), "0: finish: succeeded 0 | dissolve");
}

TEST(Leader, KeepsTheVerdictWhenANodeIsLostWhileStopping) {
  LeaderScenario scenario = running(3);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  EXPECT_EQ(scenario.lose(1), "");
  (void)scenario.receive(0, AttemptOver{});

  EXPECT_EQ(scenario.receive(2, AttemptOver{}), "0,2: finish: failed 9");
}

TEST(Leader, FinishesWhenTheLastAwaitedNodeIsLost) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  (void)scenario.receive(0, AttemptOver{});

  EXPECT_EQ(scenario.lose(1), "0: finish: failed 9 | dissolve");
}

TEST(Leader, DisconnectsNodesThatSendInvalidMessages) {
  LeaderScenario scenario = running(2);
  EXPECT_EQ(scenario.receive(1, Stop{}), "0: stop 0 by SIGTERM, the end is lost 69 | drop 1");
  EXPECT_EQ(scenario.receive(1, Failed{0, failure_of(3)}), "") << "it was on its way";
}

TEST(Leader, DisconnectsANodeThatJoinsTwiceOnOneLink) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.arrive(1, 1);
  EXPECT_EQ(scenario.receive(1, scenario.join_of(1, 2)), "drop 1");
  EXPECT_EQ(scenario.state(), State::Rendezvous);
}

// --- A leader that was asleep -------------------------------------------------------------------

TEST(Leader, LosesNoNodeAfterItsOwnPause) {
  LeaderScenario scenario = running(3);
  scenario.sleep(seconds(60));

  EXPECT_EQ(scenario.wait(seconds(20)), "") << "what they said meanwhile is still to be read";
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(Leader, NoticesSilenceSoonAfterItWasAsleep) {
  LeaderScenario scenario = running(3);
  scenario.sleep(seconds(60));
  (void)scenario.receive(1, Heartbeat{});  // read before the timer is served
  (void)scenario.receive(2, Heartbeat{});
  scenario.silence(2);

  (void)scenario.wait(seconds(10));
  EXPECT_EQ(scenario.end->reason, "node 2, host-c (10.0.0.3), was lost: it was silent for 8 s");
}

TEST(Leader, NoticesSilenceOfTheFirstAgentAfterALongTimeAlone) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.wait(seconds(100));
  (void)scenario.arrive(1, 1);
  scenario.silence(1);

  (void)scenario.wait(seconds(10));
  EXPECT_TRUE(scenario.has_said("left: it was silent for 8 s")) << scenario.all_said();
}

// --- The end ------------------------------------------------------------------------------------

TEST(Leader, WaitsForGoodbyesWithATimeout) {
  LeaderScenario scenario = running(3);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  (void)scenario.end_all();
  EXPECT_EQ(scenario.lose(1), "");

  EXPECT_EQ(scenario.wait(seconds(4)), "");
  EXPECT_EQ(scenario.wait(seconds(1)), "drop 0 | drop 2 | dissolve");
  EXPECT_EQ(scenario.state(), State::Finished);
}

TEST(Leader, KnowsItsNodesAlsoWhenOneHasLeft) {
  LeaderScenario scenario = running(3);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  (void)scenario.end_all();
  (void)scenario.lose(1);

  std::vector<std::string> addresses;
  for (const ExchangeNode& node : scenario.leader().exchange_nodes()) {
    addresses.push_back(node.address);
  }
  EXPECT_EQ(addresses, (std::vector<std::string>{"10.0.0.1", "", "10.0.0.3"}));
}

TEST(Leader, DoesNothingAnyMoreWhenItIsFinished) {
  LeaderScenario scenario = running(1);
  (void)scenario.receive(0, last_success_of(1));
  (void)scenario.receive(0, AttemptOver{});
  ASSERT_EQ(scenario.state(), State::Finished);

  EXPECT_EQ(scenario.arrive(5, 0), "");
  EXPECT_EQ(scenario.receive(0, StopFromAgent{SIGTERM}), "");
  EXPECT_EQ(scenario.happen(PortReserved{{0}, "late"}), "");
  EXPECT_EQ(scenario.happen(Tick{}), "");
  EXPECT_EQ(scenario.leader().next_wake(), std::nullopt);
}

TEST(Leader, NeverChangesAnEndAlreadySent) {
  LeaderScenario scenario(job_of(2));
  scenario.answers_port = false;
  (void)scenario.arrive(1, 1);
  EXPECT_EQ(scenario.receive(0, StopFromAgent{SIGINT}), "0,1: finish: stopped 130");

  EXPECT_EQ(scenario.happen(PortReserved{{0}, "no port is free"}), "");
  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM}), "");
}

// --- Time ---------------------------------------------------------------------------------------

TEST(Leader, NeverWakesWhileAJobOfOneNodeRuns) {
  LeaderScenario scenario = running(1);
  EXPECT_EQ(scenario.leader().next_wake(), std::nullopt);
  (void)scenario.receive(0, Failed{0, failure_of(1)});
  EXPECT_EQ(scenario.leader().next_wake(), std::nullopt);
  EXPECT_EQ(scenario.receive(0, AttemptOver{}), "0: finish: failed 9 | dissolve");
  EXPECT_EQ(scenario.leader().next_wake(), std::nullopt);
}

TEST(Leader, WakesForSilenceOnlyWhileOthersAreThere) {
  LeaderScenario scenario = running(2);
  ASSERT_TRUE(scenario.leader().next_wake());
  EXPECT_LE(*scenario.leader().next_wake() - scenario.now(), seconds(1));
  (void)scenario.lose(1);

  EXPECT_EQ(scenario.leader().next_wake(), std::nullopt) << "only an end is waited for";
}

TEST(Leader, WaitsForAPortWithoutBeingWokenAgainAndAgain) {
  LeaderScenario scenario(job_of(2, 4));
  scenario.answers_port = false;
  (void)scenario.arrive(1, 1);
  (void)scenario.wait(seconds(31));
  scenario.wakes = 0;

  (void)scenario.wait(seconds(10));
  EXPECT_LE(scenario.wakes, 12);
}

}  // namespace
}  // namespace muster::gang
