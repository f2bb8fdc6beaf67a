// When the guard takes an agent for stuck, and when it does not.
#include "guard/agent_watchdog.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Act = AgentWatchdog::Act;

constexpr seconds kGrace{30};
constexpr milliseconds kLimit{8'000};
constexpr AgentHeartbeat::Instant kStart{seconds(1'000)};
constexpr milliseconds kMoment{1};

class AgentWatchTest : public testing::Test {
 protected:
  /// At `after` the guard looks.
  Act check(milliseconds after) { return watch_.check(vitals_, kStart + after); }
  /// It was asked to end at 5 s and has heard of it; by `after` its workers' grace is over, and it is silent.
  void be_late(milliseconds after) {
    ask(seconds(5));
    EXPECT_EQ(check(seconds(5)), Act::Nothing);
    beat(milliseconds(5'100));
    EXPECT_EQ(check(after), Act::Nothing);
  }
  void ask(milliseconds after, bool means_now = false) { watch_.on_stop_asked(kStart + after, means_now); }
  void beat(milliseconds after) { vitals_.beat = kStart + after; }
  void count_on(milliseconds after) {
    beat(after);
    vitals_.lease.limit = kLimit;
  }
  /// From the start, in milliseconds; -1: never.
  long next() const {
    const auto next = watch_.next_poll();
    return next ? std::chrono::duration_cast<milliseconds>(*next - kStart).count() : -1;
  }

  AgentWatchdog watch_{kGrace, [this] { return seen_; }};
  AgentHeartbeat vitals_;
  ProcessSample seen_;
};

TEST_F(AgentWatchTest, NeedsNoTimerWithoutALease) {
  EXPECT_EQ(check(seconds(0)), Act::Nothing);
  EXPECT_EQ(next(), -1);
  EXPECT_EQ(check(seconds(3'600)), Act::Nothing);
  EXPECT_EQ(next(), -1);
}

TEST_F(AgentWatchTest, ChecksOncePerLimitWhileHeartbeatsArrive) {
  count_on(seconds(0));
  EXPECT_EQ(check(seconds(0)), Act::Nothing);
  EXPECT_EQ(next(), 8'000);
  beat(seconds(6));
  EXPECT_EQ(check(seconds(8)), Act::Nothing);
  EXPECT_EQ(next(), 14'000);
}

TEST_F(AgentWatchTest, TakesOverAtTheEndOfTheLimitAndNotBefore) {
  count_on(seconds(0));
  EXPECT_EQ(check(seconds(0)), Act::Nothing);
  EXPECT_EQ(check(kLimit - kMoment), Act::Nothing);
  EXPECT_EQ(check(kLimit), Act::KillJob);
  EXPECT_EQ(watch_.why(), "has not moved for 8 s");
}

TEST_F(AgentWatchTest, NeedsNoTimerAfterTheLeaseIsReleased) {
  count_on(seconds(0));
  EXPECT_EQ(check(seconds(0)), Act::Nothing);
  vitals_.lease.limit.reset();
  EXPECT_EQ(check(kLimit), Act::Nothing);
  EXPECT_EQ(next(), -1);
}

TEST_F(AgentWatchTest, DoesNotTakeItsOwnPauseForTheAgents) {
  count_on(seconds(0));
  EXPECT_EQ(check(seconds(0)), Act::Nothing);
  EXPECT_EQ(check(seconds(100)), Act::Nothing);
  EXPECT_EQ(next(), 101'000);
  EXPECT_EQ(check(seconds(101)), Act::KillJob);
}

TEST_F(AgentWatchTest, LeavesAnAgentAloneThatBeatsAfterTheirCommonPause) {
  count_on(seconds(0));
  EXPECT_EQ(check(seconds(0)), Act::Nothing);
  EXPECT_EQ(check(seconds(100)), Act::Nothing);
  beat(milliseconds(100'200));
  EXPECT_EQ(check(seconds(101)), Act::Nothing);
  EXPECT_EQ(next(), 108'200);
}

TEST_F(AgentWatchTest, ADelayBeforeTheFirstCheckExtendsTheLimit) {
  count_on(seconds(0));
  EXPECT_EQ(check(seconds(100)), Act::Nothing);
  EXPECT_EQ(next(), 101'000);
}

TEST_F(AgentWatchTest, PermitsNothingOnceOtherNodesHaveGoneOn) {
  count_on(seconds(0));
  vitals_.lease.gone_by = kStart + seconds(17);
  EXPECT_EQ(check(seconds(0)), Act::Nothing);
  EXPECT_EQ(check(seconds(100)), Act::KillJob) << "whoever was stopped";
}

TEST_F(AgentWatchTest, PermitsNothingThenEvenToAnAgentThatBeats) {
  count_on(seconds(0));
  vitals_.lease.gone_by = kStart + seconds(17);
  EXPECT_EQ(check(seconds(0)), Act::Nothing);
  beat(milliseconds(16'900));
  EXPECT_EQ(check(milliseconds(16'950)), Act::Nothing);
  EXPECT_EQ(next(), 17'000);
  EXPECT_EQ(check(seconds(17)), Act::KillJob);
  EXPECT_EQ(watch_.why(), "has not ended processes that other nodes believe to be gone");
}

TEST_F(AgentWatchTest, SendsSigtermOnceWhereTheAgentDoesNot) {
  ask(seconds(5));
  EXPECT_EQ(check(seconds(5)), Act::Nothing);
  EXPECT_EQ(next(), 6'000);
  EXPECT_EQ(check(seconds(6)), Act::AskWorkers);
  EXPECT_EQ(check(seconds(7)), Act::Nothing);
  EXPECT_EQ(next(), 36'000);
  EXPECT_EQ(check(milliseconds(36'000)), Act::Nothing);
  EXPECT_EQ(next(), 36'200);
  EXPECT_EQ(check(milliseconds(36'200)), Act::KillJob);
  EXPECT_EQ(watch_.why(), "has not moved for 31 s") << "since it was asked, as nobody counts on it";
}

TEST_F(AgentWatchTest, LeavesTheWorkersToAnAgentThatGotTheSignal) {
  ask(seconds(5));
  EXPECT_EQ(check(seconds(5)), Act::Nothing);
  beat(milliseconds(5'100));
  EXPECT_EQ(check(seconds(6)), Act::Nothing);
  EXPECT_EQ(next(), 36'000) << "it need not be looked at before the grace is over";
  beat(milliseconds(35'900));
  EXPECT_EQ(check(milliseconds(36'000)), Act::Nothing);
  EXPECT_EQ(next(), 36'900);
}

TEST_F(AgentWatchTest, StandsDownForAnAgentThatComesBack) {
  ask(seconds(5));
  EXPECT_EQ(check(seconds(5)), Act::Nothing);
  EXPECT_EQ(check(seconds(6)), Act::AskWorkers);
  beat(milliseconds(35'500));
  EXPECT_EQ(check(milliseconds(36'200)), Act::Nothing);
  EXPECT_EQ(next(), 36'500);
}

TEST_F(AgentWatchTest, ARepeatedRequestLeavesTheGraceAsItIs) {
  ask(seconds(5));
  EXPECT_EQ(check(seconds(5)), Act::Nothing);
  EXPECT_EQ(check(seconds(6)), Act::AskWorkers);
  ask(seconds(10));
  EXPECT_EQ(check(seconds(10)), Act::Nothing) << "the workers are asked once";
  EXPECT_EQ(next(), 36'000);
}

TEST_F(AgentWatchTest, ARepeatedRequestThatMeansNowEndsTheGrace) {
  ask(seconds(5));
  EXPECT_EQ(check(seconds(5)), Act::Nothing);
  EXPECT_EQ(check(seconds(6)), Act::AskWorkers);
  ask(seconds(10), /*means_now=*/true);
  EXPECT_EQ(check(seconds(10)), Act::Nothing);
  EXPECT_EQ(next(), 11'000);
  EXPECT_EQ(check(milliseconds(11'000)), Act::Nothing);
  EXPECT_EQ(check(milliseconds(11'200)), Act::KillJob);
}

TEST_F(AgentWatchTest, ALateSecondRequestGivesNoMoreTime) {
  ask(seconds(5));
  EXPECT_EQ(check(seconds(5)), Act::Nothing);
  EXPECT_EQ(check(seconds(6)), Act::AskWorkers);
  ask(milliseconds(35'400), /*means_now=*/true);
  EXPECT_EQ(check(milliseconds(36'000)), Act::Nothing);
  EXPECT_EQ(check(milliseconds(36'200)), Act::KillJob);
}

TEST_F(AgentWatchTest, LooksTwiceBeforeItTakesALateAgentForStuck) {
  be_late(seconds(35));
  EXPECT_EQ(next(), 36'000);
  EXPECT_EQ(check(seconds(36)), Act::Nothing);
  EXPECT_EQ(check(milliseconds(36'100)), Act::Nothing) << "somebody woke it";
  EXPECT_EQ(next(), 36'200);
  EXPECT_EQ(check(milliseconds(36'200)), Act::KillJob);
}

TEST_F(AgentWatchTest, TakesOverAtOnceFromALateAgentThatIsStopped) {
  be_late(seconds(35));
  seen_.may_move = false;
  EXPECT_EQ(check(seconds(36)), Act::KillJob);
}

TEST_F(AgentWatchTest, LeavesALateAgentAloneThatWaitsForACore) {
  be_late(seconds(35));
  seen_.waits_for_core = true;
  EXPECT_EQ(check(seconds(36)), Act::Nothing);
  EXPECT_EQ(check(milliseconds(36'200)), Act::Nothing);
  EXPECT_EQ(next(), 36'400);
  EXPECT_EQ(check(milliseconds(36'400)), Act::Nothing);
  for (milliseconds after{36'600}; after < seconds(45); after += AgentWatchdog::kSampleInterval) {
    EXPECT_EQ(check(after), Act::Nothing);
  }
  EXPECT_EQ(check(seconds(45)), Act::KillJob) << "that has an end, too";
}

TEST_F(AgentWatchTest, LeavesALateAgentAloneThatComputesALittle) {
  be_late(seconds(35));
  EXPECT_EQ(check(seconds(36)), Act::Nothing);
  seen_.cpu += milliseconds(10);
  EXPECT_EQ(check(milliseconds(36'200)), Act::Nothing);
  EXPECT_EQ(check(milliseconds(36'400)), Act::KillJob) << "it does no more";
}

TEST_F(AgentWatchTest, TakesALateAgentForStuckThatComputesAllTheTime) {
  be_late(seconds(35));
  seen_.waits_for_core = true;
  EXPECT_EQ(check(seconds(36)), Act::Nothing);
  seen_.cpu += milliseconds(190);
  EXPECT_EQ(check(milliseconds(36'200)), Act::KillJob);
}

TEST_F(AgentWatchTest, GivesARunnableAgentNoExtraTimeWhereNodesDependOnIt) {
  count_on(seconds(0));
  seen_.waits_for_core = true;
  EXPECT_EQ(check(seconds(0)), Act::Nothing);
  EXPECT_EQ(check(kLimit), Act::KillJob);
}

}  // namespace
}  // namespace muster
