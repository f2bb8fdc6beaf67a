// Leases: workers without their agent end before the leader starts the next attempt.
#include "gang/protocol/fence.hpp"
#include "participant_story.hpp"

#include <gtest/gtest.h>

namespace muster::gang {
namespace {

constexpr milliseconds kTimeout{8'000};
constexpr double kOrphanLimit = 8;  // seconds: the job may go on without the node

TEST(Lease, IsOneOfWorkers) {
  EXPECT_EQ(ParticipantStory().lease(), Lease{});
  EXPECT_EQ(joined().lease(), Lease{});
  EXPECT_EQ(running_participant().lease(), (Lease{kTimeout, {}}));
  EXPECT_EQ(stopping().lease(), (Lease{kTimeout, {}}));
  EXPECT_EQ(over().lease(), Lease{});
}

TEST(Lease, IsReleasedWhenAllWorkersAreGoneBeforeTheirOutputIsDrained) {
  ParticipantStory story = running_participant(kOrphanLimit);
  (void)story.happen(LinkDown{"closed the connection"});
  EXPECT_TRUE(story.lease().gone_by);

  (void)story.happen(WorkersGone{});
  EXPECT_EQ(story.lease(), Lease{});
  EXPECT_EQ(story.happen(AttemptOver{}), "leave: lost 69");
}

TEST(Lease, IsTakenAnewWithTheNextAttempt) {
  ParticipantStory story = stopping();
  (void)story.happen(WorkersGone{});
  (void)story.happen(AttemptOver{});
  (void)story.read_signal(start_of(1));
  EXPECT_EQ(story.lease(), (Lease{kTimeout, {}}));
}

TEST(Lease, IsNoneInAJobOfOneNode) {
  GangConfig config = agent_of();
  config.job.most_nodes = config.job.least_nodes = 1;
  ParticipantStory story(config);
  (void)story.happen(LinkUp{/*is_own=*/true});
  (void)story.read_signal(Admitted{NodeRank{0}, 8});
  (void)story.read_signal(start_of(0));

  EXPECT_EQ(story.state(), Participant::State::Running);
  EXPECT_EQ(story.lease(), Lease{});
  EXPECT_EQ(story.next_wake(), std::nullopt);
}

TEST(Lease, IsRenewedFourTimesBeforeItIsOver) {
  for (ParticipantStory story : {running_participant(), leading()}) {
    (void)story.read_signal(start_of(0));
    const int before = story.wakes;
    (void)story.wait(kTimeout);
    EXPECT_GE(story.wakes - before, 4);
    EXPECT_LE(story.wakes - before, 5);
  }
}

TEST(Lease, EndsBeforeTheLeaderContinues) {
  ParticipantStory story = running_participant(kOrphanLimit);
  story.leader_answers = false;
  const Instant last_answered = story.now();
  const Instant gone_by = last_answered + guards_limit(kTimeout);
  EXPECT_EQ(story.lease().gone_by, gone_by);

  (void)story.wait(kTimeout / 2);
  EXPECT_EQ(story.lease().gone_by, gone_by) << "what the leader does not answer counts for nothing";
  (void)story.wait(kTimeout / 2);
  EXPECT_EQ(story.state(), Participant::State::Stopping) << "it has lost its leader";
  EXPECT_EQ(story.lease().gone_by, gone_by);

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
  ParticipantStory story = running_participant(kOrphanLimit);
  (void)story.wait(kTimeout * 4);
  ASSERT_FALSE(story.beats.empty());
  EXPECT_EQ(story.lease().gone_by, story.beats.back() + guards_limit(kTimeout));
}

}  // namespace
}  // namespace muster::gang
