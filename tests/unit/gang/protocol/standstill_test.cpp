// A node that did not run for a while blames no other node for the links that it lost meanwhile.
#include "gang/protocol/standstill.hpp"

#include "gang/protocol/leader_scenario.hpp"
#include "gang/protocol/participant_scenario.hpp"

#include <gtest/gtest.h>

#include <string>

namespace muster::gang {
namespace {

constexpr const char* kStill =
    "this node stood still for 16 s (SIGSTOP, a frozen container or machine), and the other nodes give a node up after "
    "8 s: ";

TEST(Standstill, IsAWakeUpThatComesMuchTooLate) {
  const Instant start{std::chrono::hours(1'000)};
  StandstillWatch watch;
  EXPECT_FALSE(watch.note_turn(start)) << "it has not rested";

  watch.note_rest(start, start + seconds(2));
  EXPECT_FALSE(watch.note_turn(start + seconds(1))) << "an event";
  EXPECT_FALSE(watch.note_turn(start + milliseconds(2'900))) << "a busy machine";
  const auto still = watch.note_turn(start + seconds(16));
  ASSERT_TRUE(still);
  EXPECT_EQ(still->length, seconds(16));

  watch.note_rest(start, std::nullopt);
  EXPECT_FALSE(watch.note_turn(start + seconds(100))) << "only events were awaited";
}

TEST(Standstill, OfTheLeaderIsTheReasonForALostLink) {
  LeaderScenario scenario = running(2);
  scenario.sleep(seconds(16));
  EXPECT_EQ(scenario.happen(StoodStill{seconds(16)}), "");

  EXPECT_EQ(scenario.lose(1), "0: stop 0 by SIGTERM, the end is lost 69");

  EXPECT_EQ(scenario.end->reason, kStill + std::string("node 1, host-b (10.0.0.2), closed the connection"));
}

TEST(Standstill, OfTheLeaderIsTheReasonForSilenceAfterIt) {
  LeaderScenario scenario = running(2);
  scenario.sleep(seconds(16));
  (void)scenario.happen(StoodStill{seconds(16)});
  scenario.silence(1);

  (void)scenario.wait(seconds(12));

  EXPECT_EQ(scenario.end->reason, kStill + std::string("node 1, host-b (10.0.0.2), was silent for 8 s"));
}

TEST(Standstill, ThatIsShorterThanTheTimeoutExplainsNothing) {
  LeaderScenario scenario = running(2);
  scenario.sleep(seconds(7));
  (void)scenario.happen(StoodStill{seconds(7)});

  (void)scenario.lose(1);

  EXPECT_EQ(scenario.end->reason, "node 1, host-b (10.0.0.2), was lost: it closed the connection");
}

TEST(Standstill, ExplainsNoLossThatComesMuchLater) {
  LeaderScenario scenario = running(2);
  scenario.sleep(seconds(16));
  (void)scenario.happen(StoodStill{seconds(16)});
  EXPECT_EQ(scenario.wait(seconds(16)), "");

  (void)scenario.lose(1);

  EXPECT_EQ(scenario.end->reason, "node 1, host-b (10.0.0.2), was lost: it closed the connection");
}

TEST(Standstill, OfANodeIsTheReasonForTheLossOfItsLeader) {
  ParticipantScenario scenario = running_participant();
  scenario.sleep(seconds(16));
  EXPECT_EQ(scenario.happen(StoodStill{seconds(16)}), "");

  EXPECT_EQ(scenario.happen(LinkDown{"closed the connection"}), "stop workers by SIGTERM");

  (void)scenario.happen(AttemptOver{});
  EXPECT_EQ(scenario.end->reason, kStill + std::string("the leader at llm-0:29500 closed the connection"));
}

TEST(Standstill, OfANodeThatIsShorterThanTheTimeoutExplainsNothing) {
  ParticipantScenario scenario = running_participant();
  scenario.sleep(seconds(7));
  (void)scenario.happen(StoodStill{seconds(7)});

  (void)scenario.happen(LinkDown{"closed the connection"});

  (void)scenario.happen(AttemptOver{});
  EXPECT_EQ(scenario.end->reason, "the leader at llm-0:29500 was lost: it closed the connection");
}

}  // namespace
}  // namespace muster::gang
