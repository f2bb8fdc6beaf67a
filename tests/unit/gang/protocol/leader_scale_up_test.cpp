// Nodes that come while an attempt runs: the job starts again for them, or at another reason.
#include "gang/protocol/leader_story.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

[[nodiscard]] GangConfig scaling(int least, int most) {
  GangConfig config = job_of(least, most);
  config.options.scale_up = ScaleUp::Now;
  config.options.last_call = seconds(10);
  return config;
}

TEST(ScaleUp, WaitsForTheNextRestartByDefault) {
  LeaderStory story = running(restarting(job_of(1, 2)), 1);
  EXPECT_EQ(story.arrive(1), "1: admitted as a spare of a job that runs");
  EXPECT_EQ(story.wait(seconds(120)), "");

  EXPECT_EQ(story.fail_all(0, failure_of(0)),
            "1: admitted as node 1 | reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "1: start 1 as node 1 of 2, slots 2 of 4");
}

TEST(ScaleUp, StartsAgainAtOnceForTheNodeThatMakesTheJobWhole) {
  LeaderStory story = running(scaling(1, 2), 1);

  EXPECT_EQ(story.arrive(1), "1: admitted as a spare of a job that runs | 0: stop 0 by SIGTERM");
  EXPECT_EQ(story.end_all(),
            "1: admitted as node 1 | reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "1: start 1 as node 1 of 2, slots 2 of 4");

  EXPECT_TRUE(story.has_said("host-b (10.0.0.2) joins the job: starting attempt 1 (no restart is counted)"))
      << story.all_said();
  EXPECT_EQ(story.warnings, 0);
}

TEST(ScaleUp, UsesNoRestartUp) {
  LeaderStory story = running(restarting(scaling(1, 2), 1), 1);
  (void)story.arrive(1);
  (void)story.end_all();
  EXPECT_EQ(story.last_start->placement.restarts, 0);

  (void)story.fail_all(1);
  EXPECT_EQ(story.state(), State::Running);
  EXPECT_EQ(story.last_start->placement.attempt, 2);
  EXPECT_EQ(story.last_start->placement.restarts, 1);
  EXPECT_EQ(story.read_signal(1, Failed{2, failure_of(3)}), "0,1: stop 2 by SIGTERM, the end is failed 9");
  (void)story.end_all(2);

  ASSERT_EQ(story.end->gang.past_attempts.size(), 2U);
  EXPECT_EQ(story.end->gang.past_attempts[0].reason, "host-b (10.0.0.2) joins the job");
}

TEST(ScaleUp, GivesThoseThatComeOneAfterTheOtherALastCall) {
  LeaderStory story = running(scaling(1, 8), 1);
  (void)story.arrive(1);
  EXPECT_EQ(story.wait(seconds(9)), "");
  (void)story.arrive(2);

  EXPECT_EQ(story.wait(seconds(2)), "0: stop 0 by SIGTERM");

  EXPECT_NE(story.end_all().find("2: start 1 as node 2 of 3"), std::string::npos);
  EXPECT_TRUE(story.has_said("2 nodes join the job: starting attempt 1")) << story.all_said();
}

TEST(ScaleUp, IsForgottenWhenTheNodeLeavesAgain) {
  LeaderStory story = running(scaling(1, 8), 1);
  (void)story.arrive(1);
  (void)story.lose(1);

  EXPECT_EQ(story.wait(seconds(60)), "");
  EXPECT_EQ(story.state(), State::Running);
}

TEST(ScaleUp, WaitsForANodeThatIsNotReady) {
  LeaderStory story = running(scaling(1, 2), 1);
  Join unready = story.join_of(1, std::nullopt);
  unready.waits_for = "its rank table";
  EXPECT_EQ(story.arrive(1, unready), "1: admitted as a spare of a job that runs");
  EXPECT_EQ(story.wait(seconds(60)), "");

  EXPECT_EQ(story.read_signal(1, InputStatus{}), "0: stop 0 by SIGTERM");
}

TEST(ScaleUp, DoesNotHappenAboveTheMaximumOfNodes) {
  LeaderStory story = running(restarting(scaling(1, 2)), 2);
  EXPECT_EQ(story.arrive(9), "9: admitted as a spare of a job that runs");
  EXPECT_EQ(story.wait(seconds(60)), "");

  LeaderStory full = running(scaling(1, 2), 2);
  EXPECT_EQ(full.arrive(9), "9: refused: all 1 to 2 nodes of the job are here already | drop 9");
}

TEST(ScaleUp, CountsTwoThatWantTheSameSeatOnce) {
  LeaderStory story = running(scaling(1, 3), 1);
  (void)story.arrive(1, 2);
  EXPECT_EQ(story.arrive(5, 2), "5: admitted as a spare of a job that runs")
      << "with the other seat empty the job is not whole";
  EXPECT_EQ(story.wait(seconds(11)), "0: stop 0 by SIGTERM");
}

TEST(ScaleUp, IsNoneOnceARankHasEndedWell) {
  LeaderStory story = running(restarting(scaling(2, 3)), 2);
  (void)story.read_signal(1, last_success_of(3));
  EXPECT_EQ(story.arrive(9), "9: admitted as a spare of a job that runs");
  EXPECT_EQ(story.wait(seconds(60)), "");

  LeaderStory other = running(restarting(scaling(2, 4)), 2);
  (void)other.arrive(9);
  (void)other.read_signal(1, last_success_of(3));
  EXPECT_EQ(other.wait(seconds(60)), "") << "nor one that was about to begin";
}

TEST(ScaleUp, IsStoppedByWhatEndsTheJob) {
  LeaderStory story = running(scaling(1, 2), 1);
  (void)story.arrive(1);
  EXPECT_EQ(story.read_signal(0, StopFromAgent{SIGINT}), "");

  EXPECT_EQ(story.end_all(), "0,1: finish: stopped 130");
}

TEST(ScaleUp, DoesNotHappenBesideAnUnkillableProcess) {
  LeaderStory story = running(scaling(1, 2), 1);
  (void)story.arrive(1);

  EXPECT_EQ(story.read_signal(0, AttemptOver{0, std::nullopt, std::nullopt, /*gave_up=*/true}),
            "0,1: finish: failed 71");
  EXPECT_EQ(story.end->reason, "host-b (10.0.0.2) joins the job, and it cannot start again");
}

TEST(ScaleUp, StandsBehindTheFenceOfANodeThatIsLostMeanwhile) {
  LeaderStory story = running(scaling(1, 3), 2);
  EXPECT_EQ(story.last_start->orphan_limit_seconds, 8) << "so long it may take to notice";
  (void)story.arrive(2);
  EXPECT_EQ(story.lose(1), "");
  EXPECT_EQ(story.read_signal(0, AttemptOver{}), "");
  EXPECT_EQ(story.state(), State::Resting);

  EXPECT_NE(story.wait(seconds(19)).find("2: start 1 as node 1 of 2"), std::string::npos);
}

}  // namespace
}  // namespace muster::gang
