// The parts of an agent that decide one thing each: its attempt, and its link to the leader.
#include "gang/protocol/leader_link.hpp"
#include "gang/protocol/node_attempt.hpp"
#include "gang/protocol/words.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <utility>

namespace muster::gang {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kJoined{std::chrono::hours(1'000)};

/// An agent that was admitted, and its parts without the participant.
class ParticipantParts : public testing::Test {
 protected:
  ParticipantParts() {
    membership_.config.job.most_nodes = 2;
    link_.note_up(LinkUp{}, kJoined);
    link_.take(Admitted{NodeRank{1}, 8}, kJoined);
    (void)said();
  }

  /// The actions since the last call.
  std::string said() { return words_of(std::exchange(membership_.actions, {})); }

  /// Attempt 0 runs; the job may go on without this node, after so many seconds.
  void run(double orphan_limit) {
    attempt_.begin(0);
    link_.note_start(orphan_limit);
    attempt_.run({});
    EXPECT_EQ(said(), "start workers of 0");
  }

  Membership membership_{GangConfig()};
  NodeAttempt attempt_{membership_};
  LeaderLink link_{membership_, attempt_, kJoined};
};

TEST_F(ParticipantParts, AnAttemptTellsItsFirstFailureAlone) {
  run(0);
  attempt_.on(failure_of(2));
  attempt_.on(failure_of(3));
  attempt_.on(success_of(3));
  EXPECT_EQ(membership_.state, ParticipantState::Stopping);
  const std::string told = said();
  EXPECT_NE(told.find("tell"), std::string::npos);
  EXPECT_EQ(told.find('|'), std::string::npos) << told;
}

TEST_F(ParticipantParts, AnAttemptIgnoresTheStopOfAnother) {
  run(0);
  attempt_.take(Stop{1, SIGTERM, "rank 0 failed", std::nullopt});
  EXPECT_EQ(said(), "");
  attempt_.take(Stop{0, SIGTERM, "rank 0 failed", std::nullopt});
  EXPECT_EQ(said(), "stop workers by SIGTERM");
}

TEST_F(ParticipantParts, AnAttemptThatIsSkippedIsOverAtOnce) {
  membership_.is_leader = true;  // which waits for the others
  attempt_.on(StopSignal{SIGTERM});
  EXPECT_TRUE(attempt_.is_asked_to_stop());
  (void)said();
  attempt_.begin(0);
  attempt_.skip();
  EXPECT_EQ(said(), "tell ended 0");
  EXPECT_FALSE(attempt_.may_have_live_workers());
}

TEST_F(ParticipantParts, ALostLinkBeforeTheStartIsDialledAgain) {
  link_.on(LinkDown{"closed the connection"}, kJoined);
  EXPECT_EQ(membership_.state, ParticipantState::Connecting);
  const auto wake = link_.next_wake();
  ASSERT_TRUE(wake);
  EXPECT_LT(*wake, kJoined + seconds(30));
  (void)said();
  link_.on(Wake{}, *wake);
  EXPECT_EQ(said(), "dial");
}

TEST_F(ParticipantParts, ALostLinkOfARunEndsTheAttemptBeforeAnotherMayStart) {
  run(8);
  EXPECT_EQ(link_.lease(), (Lease{milliseconds(8'000), link_.must_be_gone() + kAgentKillTime}));
  link_.on(LinkDown{"closed the connection"}, kJoined + seconds(1));
  EXPECT_EQ(said(), "stop workers by SIGTERM within 8000 ms");
  EXPECT_EQ(membership_.known_end->verdict, Verdict::Lost);
  EXPECT_EQ(link_.lease().gone_by, kJoined + seconds(17)) << "it stays when the end is known";
  attempt_.on(AttemptOver{});
  EXPECT_EQ(membership_.state, ParticipantState::Left);
}

}  // namespace
}  // namespace muster::gang
