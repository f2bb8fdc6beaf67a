#include "gang/protocol/node_memory.hpp"

#include "gang/protocol/leader_scenario.hpp"
#include "gang/protocol/participant_scenario.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace muster::gang {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kBeat{seconds(1'000)};
constexpr int kLimit = 65'536;
constexpr MemoryUse kNearlyFull{.used_mib = 65'331, .limit_mib = kLimit};

TEST(NodeMemory, SaysOfALostNodeThatItWasNearItsLimit) {
  NodeMemory memory;
  memory.note({.used_mib = 100, .limit_mib = kLimit}, kBeat - seconds(2));
  memory.note(kNearlyFull, kBeat);

  EXPECT_EQ(memory.describe(kBeat + milliseconds(400)), "; its memory group was at 63.8 GiB of 64.0 GiB 0.4 s before");
}

TEST(NodeMemory, SaysNothingOfANodeFarFromItsLimit) {
  NodeMemory memory;
  EXPECT_EQ(memory.describe(kBeat), "") << "no heartbeat has come";
  memory.note({.used_mib = kLimit * 8 / 10, .limit_mib = kLimit}, kBeat);
  EXPECT_EQ(memory.describe(kBeat), "");
  memory.note({.used_mib = kLimit}, kBeat);
  EXPECT_EQ(memory.describe(kBeat), "") << "it has no limit";
}

TEST(NodeMemory, CountsTheProcessesThatTheKernelHasKilledSinceTheFirstHeartbeat) {
  NodeMemory memory;
  memory.note({.oom_kills = 7}, kBeat);
  EXPECT_EQ(memory.describe(kBeat), "") << "an earlier job's";
  memory.note({.oom_kills = 8}, kBeat);
  EXPECT_EQ(memory.describe(kBeat), "; the kernel had killed 1 process there because memory ran out");
}

TEST(NodeMemory, IsToldByTheLeaderOfALostNode) {
  LeaderScenario scenario = running(2);
  (void)scenario.receive(1, Heartbeat{kNearlyFull});
  (void)scenario.lose(1);

  EXPECT_EQ(scenario.end->reason,
            "node 1, host-b (10.0.0.2), was lost: it closed the connection; its memory group was at 63.8 GiB of "
            "64.0 GiB 0.0 s before");
}

TEST(NodeMemory, IsToldByTheOthersOfALostLeader) {
  ParticipantScenario scenario = running_participant();
  (void)scenario.receive(Heartbeat{kNearlyFull});
  (void)scenario.happen(LinkDown{"closed the connection"});

  EXPECT_TRUE(scenario.has_said("was lost: it closed the connection; its memory group was at 63.8 GiB of 64.0 GiB"));
}

TEST(NodeMemory, IsToldFourTimesAsOftenNearTheLimit) {
  GangConfig config = agent_of();
  MemoryUse use{.used_mib = 100, .limit_mib = kLimit};
  config.memory_use = [&use] { return use; };
  ParticipantScenario scenario = joined(config);
  (void)scenario.wait(seconds(8));
  const std::size_t calm = scenario.beats.size();
  use = kNearlyFull;
  (void)scenario.wait(seconds(2));
  const std::size_t begun = scenario.beats.size();
  (void)scenario.wait(seconds(8));

  EXPECT_EQ(calm, 3U);
  EXPECT_EQ(scenario.beats.size() - begun, 12U);
}

}  // namespace
}  // namespace muster::gang
