// A notice that the job is to give way: who is told, what ends it, and what counts as a failure then.
#include "gang/protocol/leader_story.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

Succeeded ends_well(int rank, bool is_last) {
  return {0, GlobalRank{rank}, LocalRank{rank % 2}, "worker", 100 + rank, 1.5, is_last};
}

LeaderStory noticed(int nodes, const GangConfig& config) {
  LeaderStory story = running(config, nodes);
  EXPECT_EQ(story.read_signal(1, SuspendRequested{"SIGTERM", seconds(26), false}), "0,1: suspend within 26000 ms");
  return story;
}
LeaderStory noticed() {
  return noticed(2, job_of(2));
}

TEST(Suspend, SendsANoticeFromAnyNodeToAllNodes) {
  LeaderStory story = noticed();
  EXPECT_EQ(story.state(), State::Running);
}

TEST(Suspend, TakesTheSmallestRemainingTime) {
  GangConfig config = job_of(2);
  config.options.suspend_timeout = seconds(10);
  LeaderStory story = running(config, 2);

  EXPECT_EQ(story.read_signal(0, SuspendRequested{"muster suspend", {}, false}), "0,1: suspend within 10000 ms");
  EXPECT_EQ(story.read_signal(1, SuspendRequested{"SIGTERM", seconds(26), false}), "") << "that is later";
  EXPECT_EQ(story.read_signal(1, SuspendRequested{"SIGTERM", seconds(4), false}), "0,1: suspend within 4000 ms");
}

TEST(Suspend, EndsWhenOneHasSaved) {
  LeaderStory story = noticed();
  (void)story.wait(milliseconds(1'240));

  EXPECT_EQ(story.read_signal(1, WorkSaved{0, "rank 3"}),
            "0,1: stop 0 by SIGTERM within 25760 ms, the end is suspended 85");
  EXPECT_EQ(story.end_all(), "0,1: finish: suspended 85");
  EXPECT_EQ(story.end->reason, "suspended (SIGTERM): rank 3 saved 1.24 s after the notice");
}

TEST(Suspend, EndsAJobWhoseProgramWantsTo) {
  LeaderStory story = running(2);

  EXPECT_EQ(story.read_signal(1, WorkSaved{0, "rank 3"}),
            "0,1: stop 0 by SIGTERM within 1000 ms, the end is suspended 85");
}

TEST(Suspend, EndsWhenAllHaveEndedWithZero) {
  LeaderStory story = noticed();
  EXPECT_EQ(story.read_signal(0, ends_well(0, true)), "");

  EXPECT_EQ(story.read_signal(1, ends_well(2, true)),
            "0,1: stop 0 by SIGTERM within 27000 ms, the end is suspended 85");
}

TEST(Suspend, EndsWhenAllHaveEndedSomehow) {
  LeaderStory story = noticed();
  EXPECT_EQ(story.read_signal(0, ends_well(0, false)), "");
  EXPECT_EQ(story.read_signal(0, AttemptOver{0, std::nullopt, std::nullopt}), "");

  (void)story.read_signal(1, AttemptOver{0, failure_of(3), std::nullopt});
  EXPECT_EQ(story.end->exit_code, 85) << "rank 3 lost its peers, which had saved";
  EXPECT_EQ(story.end->also_failed.count, 0);
}

TEST(Suspend, KillsAtTheDeadline) {
  LeaderStory story = noticed();

  EXPECT_EQ(story.wait(seconds(25)), "");
  EXPECT_EQ(story.wait(seconds(2)), "0,1: stop 0 by SIGTERM within 1000 ms, the end is suspended 85");
  EXPECT_EQ(story.end_all(), "0,1: finish: suspended 85");
}

TEST(Suspend, NamesAFailureWhereNoWorkerSucceeded) {
  LeaderStory story = noticed();
  EXPECT_EQ(story.read_signal(1, Failed{0, failure_of(3)}), "") << "others may still save";

  (void)story.wait(seconds(27));
  (void)story.read_signal(0, AttemptOver{0, std::nullopt, std::nullopt});
  (void)story.read_signal(1, AttemptOver{0, failure_of(3), std::nullopt});
  EXPECT_EQ(story.end->exit_code, 9);
  ASSERT_TRUE(story.end->first_failure);
  EXPECT_EQ(story.end->first_failure->global_rank.value, 3);
}

TEST(Suspend, TakesALostNodeForThePlatformsWork) {
  LeaderStory story = noticed();

  EXPECT_EQ(story.lose(1), "0: stop 0 by SIGTERM within 27000 ms, the end is suspended 85");
}

TEST(Suspend, StartsNoOtherAttempt) {
  LeaderStory story = noticed(2, restarting(job_of(2)));
  (void)story.read_signal(0, WorkSaved{0, "rank 0"});

  EXPECT_EQ(story.end_all(), "0,1: finish: suspended 85");
}

TEST(Suspend, MayBeWithdrawn) {
  LeaderStory story = noticed();

  EXPECT_EQ(story.read_signal(0, SuspendRequested{"", {}, true}), "0,1: go on after all");
  EXPECT_EQ(story.wait(seconds(60)), "");
  EXPECT_EQ(story.read_signal(0, SuspendRequested{"", {}, true}), "") << "there is none";
}

TEST(Suspend, FailsTheJobAfterAFailureDuringTheNotice) {
  LeaderStory story = noticed();
  (void)story.read_signal(1, AttemptOver{0, failure_of(3), std::nullopt});

  EXPECT_EQ(story.read_signal(0, SuspendRequested{"", {}, true}), "0,1: stop 0 by SIGTERM, the end is failed 9");
}

TEST(Suspend, CannotBeWithdrawnWhenANodeHasEnded) {
  LeaderStory story = noticed();
  (void)story.read_signal(1, AttemptOver{0, std::nullopt, std::nullopt});

  EXPECT_EQ(story.read_signal(0, SuspendRequested{"", {}, true}),
            "0,1: stop 0 by SIGTERM within 27000 ms, the end is suspended 85");
}

TEST(Suspend, EndsTheJobBeforeItStarts) {
  LeaderStory story(job_of(3));
  (void)story.arrive(1, 1);

  EXPECT_EQ(story.read_signal(1, SuspendRequested{"SIGTERM", seconds(26), false}), "0,1: finish: suspended 85");
}

TEST(Suspend, MeansNoOtherAttemptWhileOneIsStopping) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.read_signal(1, Failed{0, failure_of(3)});
  EXPECT_EQ(story.read_signal(0, SuspendRequested{"SIGTERM", seconds(26), false}), "");

  EXPECT_EQ(story.end_all(), "0,1: finish: suspended 85");
}

TEST(Suspend, ChangesNoEndThatIsKnown) {
  LeaderStory story = running(2);
  (void)story.read_signal(0, StopFromAgent{SIGTERM});
  EXPECT_EQ(story.read_signal(1, SuspendRequested{"SIGTERM", seconds(26), false}), "");

  EXPECT_EQ(story.end_all(), "0,1: finish: stopped 143");
}

TEST(Suspend, IsOverWhenTheJobIsStopped) {
  LeaderStory story = noticed();

  EXPECT_EQ(story.read_signal(0, StopFromAgent{SIGINT}),
            "0,1: stop 0 by SIGINT within 27000 ms, the end is stopped 130");
}

TEST(Suspend, IgnoresSavesOfAnotherAttempt) {
  LeaderStory story = noticed();
  EXPECT_EQ(story.read_signal(0, WorkSaved{7, "rank 0"}), "");
}

// --- muster stop --grace ------------------------------------------------------------------------

TEST(StopWithAGrace, ReachesAllNodes) {
  LeaderStory story = running(2);

  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM, false, milliseconds(500)}),
            "0,1: stop 0 by SIGTERM within 500 ms, the end is stopped 143");
}

// --- The state of the job -----------------------------------------------------------------------

TEST(Status, RequestsAllNodesAndForwardsTheAnswers) {
  LeaderStory story = running(2);

  EXPECT_EQ(story.read_signal(1, StatusQuery{42}), "0,1: status asked 1");
  EXPECT_EQ(story.read_signal(0, StatusReport{1, "a", 0}), "1: status 42, 1 missing: a");
  EXPECT_EQ(story.read_signal(0, StatusReport{1, "again", 0}), "") << "each node says it once";
  EXPECT_EQ(story.read_signal(1, StatusReport{1, "b", 0}), "1: status 42, 0 missing: b");
  EXPECT_EQ(story.read_signal(1, StatusReport{1, "late", 0}), "");
  EXPECT_EQ(story.read_signal(1, Announce{"it hangs"}), "0,1: announce: it hangs");
  EXPECT_EQ(story.read_signal(0, Announce{"it hangs", true, {3}}), "0,1: announce: it hangs, for rank 3");
}

TEST(Announcement, IsPassedOnToAllNodesAHundredTimesAMinute) {
  LeaderStory story = running(2);

  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(story.read_signal(1, Announce{"it hangs"}), "0,1: announce: it hangs");
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(story.read_signal(1, Announce{"it hangs"}).find("announce"), std::string::npos);
  }
  EXPECT_EQ(story.read_signal(0, Announce{"it moves"}), "0,1: announce: it moves") << "another node's";
  EXPECT_EQ(story.warnings, 1);
  EXPECT_TRUE(story.has_said("has sent 100 lines for all nodes within a minute; leaving out more"));
  (void)story.wait(seconds(60));
  EXPECT_EQ(story.read_signal(1, Announce{"it moves"}), "0,1: announce: it moves");
}

TEST(Hung, IsPassedOnWhereRanksAreNamedAndElseEndsTheAttempt) {
  LeaderStory story = running(2);

  EXPECT_EQ(story.read_signal(1, Hung{1, "of another attempt", {3}}), "");
  EXPECT_EQ(story.read_signal(0, Hung{0, "rank 3 is asleep", {3}}), "0,1: hung: rank 3 is asleep");
  EXPECT_EQ(story.read_signal(0, Hung{0, "all are asleep", {}}), "0,1: stop 0 by SIGABRT, the end is hung 86");
}

TEST(Hung, IsTakenFromTheNodeThatWatches) {
  LeaderStory story = running(2);

  EXPECT_EQ(story.read_signal(1, Hung{0, "all are asleep", {}}), "");
  EXPECT_EQ(story.read_signal(1, Announce{"rank 0 is asleep", true, {0}}), "");
  EXPECT_EQ(story.warnings, 1);
  EXPECT_TRUE(story.has_said("host-b (10.0.0.2) speaks of a hang, which is not its own; leaving that out"));
}

TEST(Status, TellsWhichRanksTheNodeHas) {
  LeaderStory story(restarting(with_known_ranks(job_of(2))));
  (void)story.arrive_all(2);
  (void)story.arrive(5);
  (void)story.read_signal(1, StatusQuery{42});
  (void)story.read_signal(0, StatusReport{1, "a", 0, "0-9"});
  EXPECT_EQ(story.last_report.ranks, "0-1");
  (void)story.read_signal(1, StatusReport{1, "b", 0, "0-9"});
  EXPECT_EQ(story.last_report.ranks, "2-3");
  (void)story.read_signal(5, StatusReport{1, "c", 0, "0-9"});
  EXPECT_EQ(story.last_report.ranks, "none") << "a spare";
}

TEST(Status, ForgetsAQuestionWhoseAskerIsGone) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.read_signal(1, StatusQuery{1});
  (void)story.lose(1);

  EXPECT_EQ(story.read_signal(0, StatusReport{1, "a", 0}), "");
}

TEST(Status, KeepsFewQuestions) {
  LeaderStory story = running(2);
  for (int i = 0; i < 17; ++i) {
    (void)story.read_signal(1, StatusQuery{i});
  }

  EXPECT_EQ(story.read_signal(0, StatusReport{1, "a", 0}), "") << "the oldest one is forgotten";
  EXPECT_EQ(story.read_signal(0, StatusReport{17, "a", 0}), "1: status 16, 1 missing: a");
}

TEST(Status, SendsNoMoreThanALinkMayHold) {
  LeaderStory story = running(2);
  (void)story.read_signal(1, StatusQuery{1});

  const std::string large(std::size_t{3} << 20U, 'x');
  EXPECT_EQ(story.read_signal(0, StatusReport{1, large, 0}), "1: status 1, 1 missing: ");
}

}  // namespace
}  // namespace muster::gang
