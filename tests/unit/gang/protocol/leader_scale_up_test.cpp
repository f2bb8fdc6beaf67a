// Nodes that come while an attempt runs: the job starts again for them, or at another reason.
#include "gang/protocol/leader_scenario.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

GangConfig scaling(int least, int most) {
  GangConfig config = job_of(least, most);
  config.options.scale_up = ScaleUp::Now;
  config.options.last_call = seconds(10);
  return config;
}

TEST(ScaleUp, WaitsForTheNextRestartByDefault) {
  LeaderScenario scenario = running(restarting(job_of(1, 2)), 1);
  EXPECT_EQ(scenario.arrive(1), "1: admitted as a spare of a job that runs");
  EXPECT_EQ(scenario.wait(seconds(120)), "");

  EXPECT_EQ(scenario.fail_all(0, failure_of(0)),
            "1: admitted as node 1 | reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "1: start 1 as node 1 of 2, slots 2 of 4");
}

TEST(ScaleUp, StartsAgainAtOnceForTheNodeThatMakesTheJobWhole) {
  LeaderScenario scenario = running(scaling(1, 2), 1);

  EXPECT_EQ(scenario.arrive(1), "1: admitted as a spare of a job that runs | 0: stop 0 by SIGTERM");
  EXPECT_EQ(scenario.end_all(),
            "1: admitted as node 1 | reserve port | 0: start 1 as node 0 of 2, slots 0 of 4 | "
            "1: start 1 as node 1 of 2, slots 2 of 4");

  EXPECT_TRUE(scenario.has_said("host-b (10.0.0.2) joins the job: starting attempt 1 (no restart is counted)"))
      << scenario.all_said();
  EXPECT_EQ(scenario.warnings, 0);
}

TEST(ScaleUp, UsesNoRestartUp) {
  LeaderScenario scenario = running(restarting(scaling(1, 2), 1), 1);
  (void)scenario.arrive(1);
  (void)scenario.end_all();
  EXPECT_EQ(scenario.last_start->placement.restarts, 0);

  (void)scenario.fail_all(1);
  EXPECT_EQ(scenario.state(), State::Running);
  EXPECT_EQ(scenario.last_start->placement.attempt, 2);
  EXPECT_EQ(scenario.last_start->placement.restarts, 1);
  EXPECT_EQ(scenario.receive(1, Failed{2, failure_of(3)}), "0,1: stop 2 by SIGTERM, the end is failed 9");
  (void)scenario.end_all(2);

  ASSERT_EQ(scenario.end->gang.past_attempts.size(), 2U);
  EXPECT_EQ(scenario.end->gang.past_attempts[0].reason, "host-b (10.0.0.2) joins the job");
}

TEST(ScaleUp, GivesThoseThatComeOneAfterTheOtherALastCall) {
  LeaderScenario scenario = running(scaling(1, 8), 1);
  (void)scenario.arrive(1);
  EXPECT_EQ(scenario.wait(seconds(9)), "");
  (void)scenario.arrive(2);

  EXPECT_EQ(scenario.wait(seconds(2)), "0: stop 0 by SIGTERM");

  EXPECT_NE(scenario.end_all().find("2: start 1 as node 2 of 3"), std::string::npos);
  EXPECT_TRUE(scenario.has_said("2 nodes join the job: starting attempt 1")) << scenario.all_said();
}

TEST(ScaleUp, IsForgottenWhenTheNodeLeavesAgain) {
  LeaderScenario scenario = running(scaling(1, 8), 1);
  (void)scenario.arrive(1);
  (void)scenario.lose(1);

  EXPECT_EQ(scenario.wait(seconds(60)), "");
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(ScaleUp, WaitsForANodeThatIsNotReady) {
  LeaderScenario scenario = running(scaling(1, 2), 1);
  Join unready = scenario.join_of(1, std::nullopt);
  unready.waits_for = "its rank table";
  EXPECT_EQ(scenario.arrive(1, unready), "1: admitted as a spare of a job that runs");
  EXPECT_EQ(scenario.wait(seconds(60)), "");

  EXPECT_EQ(scenario.receive(1, InputStatus{}), "0: stop 0 by SIGTERM");
}

TEST(ScaleUp, DoesNotHappenAboveTheMaximumOfNodes) {
  LeaderScenario scenario = running(restarting(scaling(1, 2)), 2);
  EXPECT_EQ(scenario.arrive(9), "9: admitted as a spare of a job that runs");
  EXPECT_EQ(scenario.wait(seconds(60)), "");

  LeaderScenario full = running(scaling(1, 2), 2);
  EXPECT_EQ(full.arrive(9), "9: refused: all 1 to 2 nodes of the job are here already | drop 9");
}

TEST(ScaleUp, CountsTwoThatWantTheSameSeatOnce) {
  LeaderScenario scenario = running(scaling(1, 3), 1);
  (void)scenario.arrive(1, 2);
  EXPECT_EQ(scenario.arrive(5, 2), "5: admitted as a spare of a job that runs")
      << "with the other seat empty the job is not whole";
  EXPECT_EQ(scenario.wait(seconds(11)), "0: stop 0 by SIGTERM");
}

TEST(ScaleUp, IsNoneOnceARankHasEndedWell) {
  LeaderScenario scenario = running(restarting(scaling(2, 3)), 2);
  (void)scenario.receive(1, last_success_of(3));
  EXPECT_EQ(scenario.arrive(9), "9: admitted as a spare of a job that runs");
  EXPECT_EQ(scenario.wait(seconds(60)), "");

  LeaderScenario other = running(restarting(scaling(2, 4)), 2);
  (void)other.arrive(9);
  (void)other.receive(1, last_success_of(3));
  EXPECT_EQ(other.wait(seconds(60)), "") << "nor one that was about to begin";
}

TEST(ScaleUp, IsStoppedByWhatEndsTheJob) {
  LeaderScenario scenario = running(scaling(1, 2), 1);
  (void)scenario.arrive(1);
  EXPECT_EQ(scenario.receive(0, StopFromAgent{SIGINT}), "");

  EXPECT_EQ(scenario.end_all(), "0,1: finish: stopped 130");
}

TEST(ScaleUp, DoesNotHappenBesideAnUnkillableProcess) {
  LeaderScenario scenario = running(scaling(1, 2), 1);
  (void)scenario.arrive(1);

  EXPECT_EQ(scenario.receive(0, AttemptOver{0, std::nullopt, std::nullopt, /*gave_up=*/true}),
            "0,1: finish: failed 71");
  EXPECT_EQ(scenario.end->reason, "host-b (10.0.0.2) joins the job, and it cannot start again");
}

TEST(ScaleUp, StandsBehindTheFenceOfANodeThatIsLostMeanwhile) {
  LeaderScenario scenario = running(scaling(1, 3), 2);
  EXPECT_EQ(scenario.last_start->orphan_limit_seconds, 8) << "so long it may take to notice";
  (void)scenario.arrive(2);
  EXPECT_EQ(scenario.lose(1), "");
  EXPECT_EQ(scenario.receive(0, AttemptOver{}), "");
  EXPECT_EQ(scenario.state(), State::Resting);

  EXPECT_NE(scenario.wait(seconds(19)).find("2: start 1 as node 1 of 2"), std::string::npos);
}

}  // namespace
}  // namespace muster::gang
