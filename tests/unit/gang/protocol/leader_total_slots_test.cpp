// A job that is complete by its workers, however many nodes bring them.
#include "gang/protocol/leader_scenario.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

/// Nodes may be uneven, and as many as there are workers.
GangConfig job_with_workers(int total, int most_nodes = 8) {
  GangConfig config = job_of(1, most_nodes);
  config.job.total_slots = total;
  config.options.timeout = seconds(60);
  return config;
}

std::string arrive_with(LeaderScenario& scenario, LinkId link, int slots, std::optional<int> rank = {}) {
  Join join = scenario.join_of(link, rank);
  join.node.slots = slots;
  return scenario.arrive(link, join);
}

TEST(TotalSlots, StartsAtOnceWhenTheWorkersAreHereOnWhateverNodes) {
  LeaderScenario scenario(job_with_workers(8));
  EXPECT_EQ(scenario.first_words, "0: admitted as node 0");
  EXPECT_EQ(arrive_with(scenario, 1, 5, 1), "1: admitted as node 1");
  EXPECT_EQ(scenario.wait(milliseconds(10)), "") << "enough nodes are no reason to start";

  EXPECT_EQ(arrive_with(scenario, 2, 1, 2),
            "2: admitted as node 2 | reserve port | "
            "0: start 0 as node 0 of 3, slots 0 of 8 | "
            "1: start 0 as node 1 of 3, slots 2 of 8 | "
            "2: start 0 as node 2 of 3, slots 7 of 8");
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(TotalSlots, MayAllBeOnTheLeadersNode) {
  const LeaderScenario scenario(job_with_workers(2));

  EXPECT_EQ(scenario.state(), State::Running);
  EXPECT_EQ(scenario.last_start->placement.nodes, 1);
  EXPECT_EQ(scenario.last_start->placement.slots_total, 2);
  EXPECT_EQ(scenario.last_start->placement.master_address, "127.0.0.1");
}

TEST(TotalSlots, GoWithRanksByArrival) {
  LeaderScenario scenario(job_with_workers(6), std::nullopt);
  (void)arrive_with(scenario, 7, 1);

  EXPECT_EQ(arrive_with(scenario, 4, 3),
            "4: admitted as node 2 | reserve port | "
            "0: start 0 as node 0 of 3, slots 0 of 6 | "
            "7: start 0 as node 1 of 3, slots 2 of 6 | "
            "4: start 0 as node 2 of 3, slots 3 of 6");
}

TEST(TotalSlots, MustBeTheLeaders) {
  LeaderScenario scenario(job_with_workers(8));
  Join other = scenario.join_of(1, 1);
  other.job.total_slots = 16;
  other.job.most_nodes = 16;
  EXPECT_EQ(scenario.arrive(1, other),
            "1: refused: its number of workers in all is '16', the leader's is '8' | drop 1");
  Join counting = scenario.join_of(2, 1);
  counting.job.total_slots.reset();
  EXPECT_EQ(scenario.arrive(2, counting),
            "2: refused: its number of workers in all is 'not given', the leader's is '8' | drop 2");
  EXPECT_EQ(scenario.state(), State::Rendezvous);
}

TEST(TotalSlots, RefuseANodeThatExceedsThem) {
  LeaderScenario scenario(job_with_workers(8));
  (void)arrive_with(scenario, 1, 4, 1);

  EXPECT_EQ(arrive_with(scenario, 2, 4, 2),
            "2: refused: with its 4 workers there would be 10, and the job has 8 workers | drop 2");
  EXPECT_EQ(arrive_with(scenario, 3, 2'000'000, 2).substr(0, 60),
            "3: refused: with its 2000000 workers there would be 2000006,");
  EXPECT_EQ(arrive_with(scenario, 4, 2, 2).substr(0, 36), "4: admitted as node 2 | reserve port");
}

TEST(TotalSlots, RefuseALeaderThatHasMoreThanTheJob) {
  const LeaderScenario scenario(job_with_workers(1));

  EXPECT_EQ(scenario.first_words, "0: refused: with its 2 workers there would be 2, and the job has 1 worker | drop 0");
}

TEST(TotalSlots, RefuseOneAgentTooManyOnceAllAreHere) {
  LeaderScenario scenario(job_with_workers(4));
  (void)arrive_with(scenario, 1, 2, 1);
  EXPECT_EQ(arrive_with(scenario, 2, 2, 2), "2: refused: all 4 workers of the job are here already | drop 2");
}

TEST(TotalSlots, KeepAnExcessAgentAsASpareWhereTheJobCanRestart) {
  LeaderScenario scenario(restarting(job_with_workers(4)));
  (void)arrive_with(scenario, 1, 2, 1);
  EXPECT_EQ(arrive_with(scenario, 2, 2, std::nullopt), "2: admitted as a spare of a job that runs");
}

TEST(TotalSlots, WaitAgainAfterANodeLeftBeforeTheStart) {
  LeaderScenario scenario(job_with_workers(6));
  (void)arrive_with(scenario, 1, 3, 1);
  (void)scenario.lose(1);
  (void)arrive_with(scenario, 2, 1, 2);

  EXPECT_EQ(arrive_with(scenario, 3, 3, 1).substr(0, 36), "3: admitted as node 1 | reserve port");
}

TEST(TotalSlots, AreWaitedForInWordsOfWorkers) {
  LeaderScenario scenario(job_with_workers(8));
  (void)arrive_with(scenario, 1, 3, 1);

  EXPECT_EQ(scenario.wait(seconds(6)), "1: waiting");
  EXPECT_TRUE(scenario.has_said("5 of 8 workers are here after 5 s, on 2 nodes; giving up in 55 s"))
      << scenario.all_said();
}

TEST(TotalSlots, AreGivenUpInWordsOfWorkers) {
  LeaderScenario scenario(job_with_workers(8));
  (void)arrive_with(scenario, 1, 3, 1);
  (void)arrive_with(scenario, 2, 1, 2);
  (void)scenario.lose(2);
  (void)scenario.wait(seconds(61));

  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(words_of(*scenario.end), "incomplete 75");
  EXPECT_EQ(scenario.end->reason,
            "5 of 8 workers came within 60 s, on 2 nodes: node 2 (host-c) left: closed the "
            "connection");
}

TEST(TotalSlots, SayThatTheNodeRanksHaveAGap) {
  LeaderScenario scenario(job_with_workers(8));
  (void)arrive_with(scenario, 1, 3, 1);
  EXPECT_EQ(arrive_with(scenario, 3, 3, 3), "3: admitted as node 3");
  EXPECT_EQ(scenario.state(), State::Rendezvous);
  EXPECT_EQ(arrive_with(scenario, 2, 1, 2), "2: refused: all 8 workers of the job are here already | drop 2");
  (void)scenario.wait(seconds(6));
  EXPECT_TRUE(
      scenario.has_said("8 of 8 workers are here after 5 s, on 3 nodes, and their node ranks "
                        "have a gap: node 2 (host-c) was refused: all 8 workers of the job are here "
                        "already; giving up in 55 s"))
      << scenario.all_said();
  (void)scenario.wait(seconds(61));

  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(words_of(*scenario.end), "incomplete 75");
  EXPECT_EQ(scenario.end->reason,
            "8 of 8 workers came within 60 s, on 3 nodes, and their node ranks have a gap: node 2 "
            "(host-c) was refused: all 8 workers of the job are here already");
}

TEST(TotalSlots, AreTheSameAfterARestart) {
  LeaderScenario scenario(restarting(job_with_workers(7)));
  (void)arrive_with(scenario, 1, 4, 1);
  (void)arrive_with(scenario, 2, 1, 2);
  ASSERT_EQ(scenario.state(), State::Running);
  (void)scenario.lose(1);
  (void)scenario.end_all();
  (void)scenario.wait(seconds(20));
  EXPECT_EQ(scenario.state(), State::Rendezvous) << "3 of 7 workers are no job";
  EXPECT_TRUE(scenario.has_said("3 of 7 workers are here after 0 s, on 2 nodes: node 1 (host-b) left"))
      << scenario.all_said();

  EXPECT_EQ(arrive_with(scenario, 5, 3, 1), "5: admitted as node 1");
  EXPECT_EQ(arrive_with(scenario, 6, 1, 3),
            "6: admitted as node 3 | reserve port | "
            "0: start 1 as node 0 of 4, slots 0 of 7 | "
            "5: start 1 as node 1 of 4, slots 2 of 7 | "
            "2: start 1 as node 2 of 4, slots 5 of 7 | "
            "6: start 1 as node 3 of 4, slots 6 of 7");
}

TEST(TotalSlots, TakeOnlySparesThatFit) {
  LeaderScenario scenario(restarting(job_with_workers(4)));
  (void)arrive_with(scenario, 1, 2, 1);
  EXPECT_EQ(arrive_with(scenario, 2, 3), "2: admitted as a spare of a job that runs");
  EXPECT_EQ(arrive_with(scenario, 3, 2), "3: admitted as a spare of a job that runs");
  (void)scenario.lose(1);
  (void)scenario.end_all();

  EXPECT_EQ(scenario.wait(seconds(20)),
            "3: admitted as node 1 | reserve port | "
            "0: start 1 as node 0 of 2, slots 0 of 4 | 3: start 1 as node 1 of 2, slots 2 of 4");
}

TEST(TotalSlots, LetANodeGoOnlyWhereOthersBringItsWorkers) {
  LeaderScenario scenario(restarting(job_with_workers(4)));
  (void)arrive_with(scenario, 1, 2, 1);
  (void)arrive_with(scenario, 2, 1);  // a spare, and too small
  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM, false}), "0,1: stop 0 by SIGTERM, the end is stopped 143");

  LeaderScenario other(restarting(job_with_workers(4)));
  (void)arrive_with(other, 1, 2, 1);
  (void)arrive_with(other, 2, 2);
  EXPECT_EQ(other.receive(1, StopFromAgent{SIGTERM, false}), "0,1: stop 0 by SIGTERM");
}

}  // namespace
}  // namespace muster::gang
