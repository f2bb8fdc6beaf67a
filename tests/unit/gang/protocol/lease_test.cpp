// Leases: workers without their agent end before the leader starts the next attempt.
#include "gang/protocol/fence.hpp"
#include "participant_scenario.hpp"

#include <gtest/gtest.h>

namespace muster::gang {
namespace {

constexpr milliseconds kTimeout{8'000};
constexpr double kOrphanLimit = 8;  // seconds: the job may go on without the node

TEST(Lease, IsOneOfWorkers) {
  EXPECT_EQ(ParticipantScenario().lease(), Lease{});
  EXPECT_EQ(joined().lease(), Lease{});
  EXPECT_EQ(running_participant().lease(), (Lease{kTimeout, {}}));
  EXPECT_EQ(stopping().lease(), (Lease{kTimeout, {}}));
  EXPECT_EQ(over().lease(), Lease{});
}

TEST(Lease, IsReleasedWhenAllWorkersAreGoneBeforeTheirOutputIsDrained) {
  ParticipantScenario scenario = running_participant(kOrphanLimit);
  (void)scenario.happen(LinkDown{"closed the connection"});
  EXPECT_TRUE(scenario.lease().gone_by);

  (void)scenario.happen(WorkersGone{});
  EXPECT_EQ(scenario.lease(), Lease{});
  EXPECT_EQ(scenario.happen(AttemptOver{}), "leave: lost 69");
}

TEST(Lease, IsTakenAnewWithTheNextAttempt) {
  ParticipantScenario scenario = stopping();
  (void)scenario.happen(WorkersGone{});
  (void)scenario.happen(AttemptOver{});
  (void)scenario.receive(start_of(1));
  EXPECT_EQ(scenario.lease(), (Lease{kTimeout, {}}));
}

TEST(Lease, IsNoneInAJobOfOneNode) {
  GangConfig config = agent_of();
  config.job.most_nodes = config.job.least_nodes = 1;
  ParticipantScenario scenario(config);
  (void)scenario.happen(LinkUp{/*is_own=*/true});
  (void)scenario.receive(Admitted{NodeRank{0}, 8});
  (void)scenario.receive(start_of(0));

  EXPECT_EQ(scenario.state(), Participant::State::Running);
  EXPECT_EQ(scenario.lease(), Lease{});
  EXPECT_EQ(scenario.next_wake(), std::nullopt);
}

TEST(Lease, IsRenewedTwoOrThreeTimesBeforeItIsOver) {
  for (ParticipantScenario scenario : {running_participant(), leading()}) {
    (void)scenario.receive(start_of(0));
    const int before = scenario.wakes;
    (void)scenario.wait(kTimeout);
    EXPECT_GE(scenario.wakes - before, 2);
    EXPECT_LE(scenario.wakes - before, 3);
  }
}

TEST(Lease, NeedsNoWakeUpOfALeaderThatHearsItsNodes) {
  ParticipantScenario scenario = leading();
  (void)scenario.receive(start_of(0));
  const Instant wake = *scenario.next_wake();
  EXPECT_GT(wake, scenario.now() + kTimeout * 5 / 16) << "the next heartbeat of another node comes before";
}

TEST(Lease, EndsBeforeTheLeaderContinues) {
  ParticipantScenario scenario = running_participant(kOrphanLimit);
  scenario.leader_answers = false;
  const Instant last_answered = scenario.now();
  const Instant gone_by = last_answered + guards_limit(kTimeout);
  EXPECT_EQ(scenario.lease().gone_by, gone_by);

  (void)scenario.wait(kTimeout / 2);
  EXPECT_EQ(scenario.lease().gone_by, gone_by) << "what the leader does not answer counts for nothing";
  (void)scenario.wait(kTimeout / 2);
  EXPECT_EQ(scenario.state(), Participant::State::Stopping) << "it has lost its leader";
  EXPECT_EQ(scenario.lease().gone_by, gone_by);

  Fence fence(kTimeout, last_answered);
  fence.note_loss(last_answered);
  EXPECT_GE(fence.until() - gone_by, kGuardKillTime);
}

TEST(Lease, LeavesTheAgentTimeToEndItsWorkersItself) {
  EXPECT_EQ(agents_limit(kTimeout), milliseconds(16'000));
  EXPECT_EQ(guards_limit(kTimeout), milliseconds(17'000));
  EXPECT_EQ(leaders_limit(kTimeout), milliseconds(18'000));
}

TEST(Lease, IsProlongedByAnswers) {
  ParticipantScenario scenario = running_participant(kOrphanLimit);
  (void)scenario.wait(kTimeout * 4);
  ASSERT_FALSE(scenario.beats.empty());
  EXPECT_EQ(scenario.lease().gone_by, scenario.beats.back() + guards_limit(kTimeout));
}

}  // namespace
}  // namespace muster::gang
