// A notice that the job is to give way: who is told, what ends it, and what counts as a failure then.
#include "gang/protocol/leader_scenario.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

Succeeded ends_well(int rank, bool is_last) {
  return {0, GlobalRank{rank}, LocalRank{rank % 2}, "worker", 100 + rank, 1.5, is_last};
}

LeaderScenario noticed(int nodes, const GangConfig& config) {
  LeaderScenario scenario = running(config, nodes);
  EXPECT_EQ(scenario.receive(1, SuspendRequested{"SIGTERM", seconds(26), false}), "0,1: suspend within 26000 ms");
  return scenario;
}
LeaderScenario noticed() {
  return noticed(2, job_of(2));
}

TEST(Suspend, SendsANoticeFromAnyNodeToAllNodes) {
  LeaderScenario scenario = noticed();
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(Suspend, TakesTheSmallestRemainingTime) {
  GangConfig config = job_of(2);
  config.options.suspend_timeout = seconds(10);
  LeaderScenario scenario = running(config, 2);

  EXPECT_EQ(scenario.receive(0, SuspendRequested{"muster suspend", {}, false}), "0,1: suspend within 10000 ms");
  EXPECT_EQ(scenario.receive(1, SuspendRequested{"SIGTERM", seconds(26), false}), "") << "that is later";
  EXPECT_EQ(scenario.receive(1, SuspendRequested{"SIGTERM", seconds(4), false}), "0,1: suspend within 4000 ms");
}

TEST(Suspend, EndsWhenOneHasSaved) {
  LeaderScenario scenario = noticed();
  (void)scenario.wait(milliseconds(1'240));

  EXPECT_EQ(scenario.receive(1, WorkSaved{0, "rank 3"}),
            "0,1: stop 0 by SIGTERM within 25760 ms, the end is suspended 85");
  EXPECT_EQ(scenario.end_all(), "0,1: finish: suspended 85");
  EXPECT_EQ(scenario.end->reason, "suspended (SIGTERM): rank 3 saved 1.24 s after the notice");
}

TEST(Suspend, EndsAJobWhoseProgramWantsTo) {
  LeaderScenario scenario = running(2);

  EXPECT_EQ(scenario.receive(1, WorkSaved{0, "rank 3"}),
            "0,1: stop 0 by SIGTERM within 1000 ms, the end is suspended 85");
}

TEST(Suspend, EndsWhenAllHaveEndedWithZero) {
  LeaderScenario scenario = noticed();
  EXPECT_EQ(scenario.receive(0, ends_well(0, true)), "");

  EXPECT_EQ(scenario.receive(1, ends_well(2, true)), "0,1: stop 0 by SIGTERM within 27000 ms, the end is suspended 85");
}

TEST(Suspend, EndsWhenAllHaveEndedSomehow) {
  LeaderScenario scenario = noticed();
  EXPECT_EQ(scenario.receive(0, ends_well(0, false)), "");
  EXPECT_EQ(scenario.receive(0, AttemptOver{0, std::nullopt, std::nullopt}), "");

  (void)scenario.receive(1, AttemptOver{0, failure_of(3), std::nullopt});
  EXPECT_EQ(scenario.end->exit_code, 85) << "rank 3 lost its peers, which had saved";
  EXPECT_EQ(scenario.end->kind, EndKind::Suspended);
  EXPECT_EQ(scenario.end->also_failed.count, 0);
}

TEST(Suspend, SaysThatNobodyMayHaveSavedWhereAllErred) {
  for (const std::vector<int>& of_node_1 : {std::vector{2, 3}, std::vector{3}}) {  // rank 2 may have ended with 143
    LeaderScenario scenario = noticed();
    AttemptOver erred;
    erred.erred_after_notice = {0, 1};
    (void)scenario.receive(0, erred);
    erred.erred_after_notice = of_node_1;
    (void)scenario.receive(1, erred);

    EXPECT_EQ(scenario.end->exit_code, 85);
    EXPECT_EQ(scenario.end->kind, of_node_1.size() == 2 ? EndKind::Unsaved : EndKind::Suspended);
    EXPECT_EQ(scenario.end->erred_after_notice.size(), 2 + of_node_1.size());
  }
}

TEST(Suspend, KillsAtTheDeadline) {
  LeaderScenario scenario = noticed();

  EXPECT_EQ(scenario.wait(seconds(25)), "");
  EXPECT_EQ(scenario.wait(seconds(2)), "0,1: stop 0 by SIGTERM within 1000 ms, the end is suspended 85");
  EXPECT_EQ(scenario.end_all(), "0,1: finish: suspended 85");
}

TEST(Suspend, NamesAFailureWhereNoWorkerSucceeded) {
  LeaderScenario scenario = noticed();
  EXPECT_EQ(scenario.receive(1, Failed{0, failure_of(3)}), "") << "others may still save";

  (void)scenario.wait(seconds(27));
  (void)scenario.receive(0, AttemptOver{0, std::nullopt, std::nullopt});
  (void)scenario.receive(1, AttemptOver{0, failure_of(3), std::nullopt});
  EXPECT_EQ(scenario.end->exit_code, 9);
  ASSERT_TRUE(scenario.end->first_failure);
  EXPECT_EQ(scenario.end->first_failure->global_rank.value, 3);
}

TEST(Suspend, TakesALostNodeForThePlatformsWork) {
  LeaderScenario scenario = noticed();

  EXPECT_EQ(scenario.lose(1), "0: stop 0 by SIGTERM within 27000 ms, the end is suspended 85");
}

TEST(Suspend, StartsNoOtherAttempt) {
  LeaderScenario scenario = noticed(2, restarting(job_of(2)));
  (void)scenario.receive(0, WorkSaved{0, "rank 0"});

  EXPECT_EQ(scenario.end_all(), "0,1: finish: suspended 85");
}

TEST(Suspend, MayBeWithdrawn) {
  LeaderScenario scenario = noticed();

  EXPECT_EQ(scenario.receive(0, SuspendRequested{"", {}, true}), "0,1: go on after all");
  EXPECT_EQ(scenario.wait(seconds(60)), "");
  EXPECT_EQ(scenario.receive(0, SuspendRequested{"", {}, true}), "") << "there is none";
}

TEST(Suspend, FailsTheJobAfterAFailureDuringTheNotice) {
  LeaderScenario scenario = noticed();
  (void)scenario.receive(1, AttemptOver{0, failure_of(3), std::nullopt});

  EXPECT_EQ(scenario.receive(0, SuspendRequested{"", {}, true}), "0,1: stop 0 by SIGTERM, the end is failed 9");
}

TEST(Suspend, CannotBeWithdrawnWhenANodeHasEnded) {
  LeaderScenario scenario = noticed();
  (void)scenario.receive(1, AttemptOver{0, std::nullopt, std::nullopt});

  EXPECT_EQ(scenario.receive(0, SuspendRequested{"", {}, true}),
            "0,1: stop 0 by SIGTERM within 27000 ms, the end is suspended 85");
}

TEST(Suspend, EndsTheJobBeforeItStarts) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.arrive(1, 1);

  EXPECT_EQ(scenario.receive(1, SuspendRequested{"SIGTERM", seconds(26), false}), "0,1: finish: suspended 85");
}

TEST(Suspend, MeansNoOtherAttemptWhileOneIsStopping) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.receive(1, Failed{0, failure_of(3)});
  EXPECT_EQ(scenario.receive(0, SuspendRequested{"SIGTERM", seconds(26), false}), "");

  EXPECT_EQ(scenario.end_all(), "0,1: finish: suspended 85");
}

TEST(Suspend, ChangesNoEndThatIsKnown) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(0, StopFromAgent{SIGTERM});
  EXPECT_EQ(scenario.receive(1, SuspendRequested{"SIGTERM", seconds(26), false}), "");

  EXPECT_EQ(scenario.end_all(), "0,1: finish: stopped 143");
}

TEST(Suspend, IsOverWhenTheJobIsStopped) {
  LeaderScenario scenario = noticed();

  EXPECT_EQ(scenario.receive(0, StopFromAgent{SIGINT}),
            "0,1: stop 0 by SIGINT within 27000 ms, the end is stopped 130");
}

TEST(Suspend, IgnoresSavesOfAnotherAttempt) {
  LeaderScenario scenario = noticed();
  EXPECT_EQ(scenario.receive(0, WorkSaved{7, "rank 0"}), "");
}

// --- muster stop --grace ------------------------------------------------------------------------

TEST(StopWithAGrace, ReachesAllNodes) {
  LeaderScenario scenario = running(2);

  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM, false, milliseconds(500)}),
            "0,1: stop 0 by SIGTERM within 500 ms, the end is stopped 143");
}

// --- The state of the job -----------------------------------------------------------------------

TEST(Status, RequestsAllNodesAndForwardsTheAnswers) {
  LeaderScenario scenario = running(2);

  EXPECT_EQ(scenario.receive(1, StatusQuery{42}), "0,1: status asked 1");
  EXPECT_EQ(scenario.receive(0, StatusReport{1, "a", 0}), "1: status 42, 1 missing: a");
  EXPECT_EQ(scenario.receive(0, StatusReport{1, "again", 0}), "") << "each node says it once";
  EXPECT_EQ(scenario.receive(1, StatusReport{1, "b", 0}), "1: status 42, 0 missing: b");
  EXPECT_EQ(scenario.receive(1, StatusReport{1, "late", 0}), "");
  EXPECT_EQ(scenario.receive(1, Announce{"it hangs"}), "0,1: announce: it hangs");
  EXPECT_EQ(scenario.receive(0, Announce{"it hangs", true, {3}}), "0,1: announce: it hangs, for rank 3");
}

TEST(Announcement, IsPassedOnToAllNodesAHundredTimesAMinute) {
  LeaderScenario scenario = running(2);

  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(scenario.receive(1, Announce{"it hangs"}), "0,1: announce: it hangs");
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(scenario.receive(1, Announce{"it hangs"}).find("announce"), std::string::npos);
  }
  EXPECT_EQ(scenario.receive(0, Announce{"it moves"}), "0,1: announce: it moves") << "another node's";
  EXPECT_EQ(scenario.warnings, 1);
  EXPECT_TRUE(scenario.has_said("has sent 100 lines for all nodes within a minute; leaving out more"));
  (void)scenario.wait(seconds(60));
  EXPECT_EQ(scenario.receive(1, Announce{"it moves"}), "0,1: announce: it moves");
}

TEST(Hung, IsPassedOnWhereRanksAreNamedAndElseEndsTheAttempt) {
  LeaderScenario scenario = running(2);

  EXPECT_EQ(scenario.receive(1, Hung{1, "of another attempt", {3}}), "");
  EXPECT_EQ(scenario.receive(0, Hung{0, "rank 3 is asleep", {3}}), "0,1: hung: rank 3 is asleep");
  EXPECT_EQ(scenario.receive(0, Hung{0, "all are asleep", {}}), "0,1: stop 0 by SIGABRT, the end is hung 86");
}

TEST(Hung, IsTakenFromTheNodeThatWatches) {
  LeaderScenario scenario = running(2);

  EXPECT_EQ(scenario.receive(1, Hung{0, "all are asleep", {}}), "");
  EXPECT_EQ(scenario.receive(1, Announce{"rank 0 is asleep", true, {0}}), "");
  EXPECT_EQ(scenario.warnings, 1);
  EXPECT_TRUE(scenario.has_said("host-b (10.0.0.2) reports a hang, which only node 0 may do; ignoring this report"));
}

TEST(Status, TellsWhichRanksTheNodeHas) {
  LeaderScenario scenario(restarting(with_known_ranks(job_of(2))));
  (void)scenario.arrive_all(2);
  (void)scenario.arrive(5);
  (void)scenario.receive(1, StatusQuery{42});
  (void)scenario.receive(0, StatusReport{1, "a", 0, "0-9"});
  EXPECT_EQ(scenario.last_report.ranks, "0-1");
  (void)scenario.receive(1, StatusReport{1, "b", 0, "0-9"});
  EXPECT_EQ(scenario.last_report.ranks, "2-3");
  (void)scenario.receive(5, StatusReport{1, "c", 0, "0-9"});
  EXPECT_EQ(scenario.last_report.ranks, "none") << "a spare";
}

TEST(Status, NamesTheNodesThatHaveNotAnsweredYet) {
  LeaderScenario scenario = running(10);
  (void)scenario.receive(0, StatusQuery{42});
  (void)scenario.receive(0, StatusReport{1, "a", 0});
  EXPECT_EQ(scenario.last_report.awaited, "") << "they are many";
  for (LinkId link = 1; link < 8; ++link) {
    (void)scenario.receive(link, StatusReport{1, "b", 0});
  }
  EXPECT_EQ(scenario.last_report.awaited, "node 8 (host-i), node 9 (host-j)");
  (void)scenario.receive(9, StatusReport{1, "c", 0});
  EXPECT_EQ(scenario.last_report.awaited, "node 8 (host-i)");
  (void)scenario.receive(8, StatusReport{1, "d", 0});
  EXPECT_EQ(scenario.last_report.awaited, "");
}

TEST(Status, ForgetsAQuestionWhoseAskerIsGone) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.receive(1, StatusQuery{1});
  (void)scenario.lose(1);

  EXPECT_EQ(scenario.receive(0, StatusReport{1, "a", 0}), "");
}

TEST(Status, KeepsFewQuestions) {
  LeaderScenario scenario = running(2);
  for (int i = 0; i < 17; ++i) {
    (void)scenario.receive(1, StatusQuery{i});
  }

  EXPECT_EQ(scenario.receive(0, StatusReport{1, "a", 0}), "") << "the oldest one is forgotten";
  EXPECT_EQ(scenario.receive(0, StatusReport{17, "a", 0}), "1: status 16, 1 missing: a");
}

TEST(Status, SendsNoMoreThanALinkMayHold) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(1, StatusQuery{1});

  const std::string large(std::size_t{3} << 20U, 'x');
  EXPECT_EQ(scenario.receive(0, StatusReport{1, large, 0}), "1: status 1, 1 missing: ");
}

}  // namespace
}  // namespace muster::gang
