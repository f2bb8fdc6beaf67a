// A rank that ends with 0 while others work on.
#include "gang/protocol/leader_scenario.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

GangConfig forbidding(GangConfig config) {
  config.options.on_early_exit = OnEarlyExit::Fail;
  return config;
}
GangConfig limited(GangConfig config, milliseconds limit) {
  config.options.early_exit_timeout = limit;
  return config;
}

TEST(EarlyExit, IsNoFailure) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(1, success_of(2));

  EXPECT_EQ(scenario.wait(std::chrono::hours(2)), "") << "inputs may be uneven";
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(EarlyExit, EndsAHungJobAfterTheTimeout) {
  LeaderScenario scenario = running(limited(job_of(2), seconds(60)), 2);
  (void)scenario.receive(1, success_of(3));
  EXPECT_EQ(scenario.wait(seconds(59)), "");

  EXPECT_EQ(scenario.wait(seconds(1)), "0,1: stop 0 by SIGTERM, the end is hung 86");
  EXPECT_EQ(scenario.end->reason, "rank 3 ended with exit code 0, 60.00 s ago, and ranks 0-2 have not ended");
  EXPECT_FALSE(scenario.end->first_failure);
}

TEST(EarlyExit, CountsFromTheFirstOne) {
  LeaderScenario scenario = running(limited(job_of(2), seconds(60)), 2);
  (void)scenario.receive(1, success_of(3));
  (void)scenario.wait(seconds(50));
  (void)scenario.receive(0, success_of(0));

  EXPECT_NE(scenario.wait(seconds(10)), "");
  EXPECT_EQ(scenario.end->reason, "rank 3 ended with exit code 0, 60.00 s ago, and ranks 1-2 have not ended");
}

TEST(EarlyExit, FailsTheJobWhereItIsForbidden) {
  LeaderScenario scenario = running(forbidding(job_of(2)), 2);
  (void)scenario.receive(1, success_of(3));

  EXPECT_EQ(scenario.wait(seconds(10)), "0,1: stop 0 by SIGTERM, the end is failed 1");
  ASSERT_TRUE(scenario.end->first_failure);
  EXPECT_TRUE(scenario.end->first_failure->is_early_exit);
  EXPECT_EQ(scenario.end->first_failure->global_rank.value, 3);
  EXPECT_EQ(scenario.end->first_failure->node.value, 1);
  EXPECT_EQ(scenario.end->first_failure->host, "host-b");
  EXPECT_EQ(scenario.end->reason, "rank 3 ended early: 10.00 s later ranks 0-2 have not ended");
}

TEST(EarlyExit, NamesItsNodeAfterThatNodeIsGone) {
  LeaderScenario scenario = running(forbidding(job_of(2)), 2);
  (void)scenario.receive(1, success_of(2));
  (void)scenario.receive(1, last_success_of(3));
  (void)scenario.receive(1, AttemptOver{});
  (void)scenario.lose(1);

  (void)scenario.wait(seconds(10));
  ASSERT_TRUE(scenario.end && scenario.end->first_failure);
  EXPECT_EQ(scenario.end->first_failure->node.value, 1);
  EXPECT_EQ(scenario.end->first_failure->host, "host-b");
}

TEST(EarlyExit, KeepsTheFailureAsItWasFound) {
  LeaderScenario scenario = running(forbidding(job_of(2)), 2);
  (void)scenario.receive(1, success_of(3));
  (void)scenario.wait(seconds(10));
  (void)scenario.receive(0, AttemptOver{0, failure_of(3), std::nullopt});
  (void)scenario.receive(1, AttemptOver{});

  EXPECT_TRUE(scenario.end->first_failure->is_early_exit);
}

TEST(EarlyExit, WaitsForItsTimeout) {
  LeaderScenario scenario = running(forbidding(limited(job_of(2), seconds(100))), 2);
  (void)scenario.receive(1, success_of(3));
  EXPECT_EQ(scenario.wait(seconds(99)), "");

  EXPECT_EQ(scenario.wait(seconds(1)), "0,1: stop 0 by SIGTERM, the end is failed 1");
}

TEST(EarlyExit, IsNoneWhenTheOtherRanksEndInTime) {
  LeaderScenario scenario = running(forbidding(job_of(2)), 2);
  (void)scenario.receive(1, last_success_of(3));
  (void)scenario.wait(seconds(9));
  EXPECT_EQ(scenario.receive(0, last_success_of(1)), "0,1: stop 0 by SIGTERM, the end is succeeded 0");

  EXPECT_EQ(scenario.wait(seconds(20)), "") << "its deadline is forgotten";
}

TEST(EarlyExit, IsNoneOfANodeWithoutDecidingWorkers) {
  LeaderScenario scenario = running(forbidding(job_of(2)), 2);
  Succeeded none;
  none.is_last = true;
  (void)scenario.receive(1, none);

  EXPECT_EQ(scenario.wait(seconds(60)), "");
}

TEST(EarlyExit, IsForgottenByTheNextAttempt) {
  LeaderScenario scenario = running(restarting(limited(job_of(2), seconds(60))), 2);
  (void)scenario.receive(1, success_of(3));
  EXPECT_EQ(scenario.wait(seconds(60)), "0,1: stop 0 by SIGTERM") << "a hung job may restart";
  EXPECT_NE(scenario.end_all().find("start 1"), std::string::npos);

  EXPECT_EQ(scenario.wait(seconds(600)), "");
}

}  // namespace
}  // namespace muster::gang
