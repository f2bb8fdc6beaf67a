// Restarts of a job: whether, after which backoff, and the detection of crash loops.
#include "gang/protocol/restart_decider.hpp"

#include "gang/protocol/words.hpp"

#include <gtest/gtest.h>

namespace muster::gang {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kNow{std::chrono::hours(1'000)};

RestartDecider progress_of(int max_restarts, int no_progress_limit = 3) {
  RestartPolicy policy;
  policy.max_restarts = max_restarts;
  policy.no_progress_limit = no_progress_limit;
  return RestartDecider(policy);
}

TEST(Pauses, GrowToTheirLimits) {
  EXPECT_EQ(restart_pause(1, seconds(1)), seconds(0));
  EXPECT_EQ(restart_pause(2, seconds(1)), seconds(1));
  EXPECT_EQ(restart_pause(3, seconds(1)), seconds(2));
  EXPECT_EQ(restart_pause(100, seconds(1)), seconds(60));
  EXPECT_EQ(restart_pause(100, seconds(300)), seconds(300));
  EXPECT_EQ(dial_pause(1), milliseconds(50));
  EXPECT_EQ(dial_pause(2), milliseconds(75));
  EXPECT_EQ(dial_pause(1'000), milliseconds(1'000));
}

TEST(RestartDecider, AllowsAsManyRestartsAsTheUserSays) {
  RestartDecider progress = progress_of(1);
  EXPECT_TRUE(progress.may_restart(kNow));
  progress.note_restart(kNow, seconds(1));
  EXPECT_FALSE(progress.may_restart(kNow));
}

TEST(RestartDecider, ForgetsRestartsThatAreOlderThanTheWindow) {
  RestartPolicy policy;
  policy.max_restarts = 1;
  policy.window = seconds(1);
  RestartDecider progress(policy);
  progress.note_restart(kNow, seconds(1));
  EXPECT_FALSE(progress.may_restart(kNow));
  EXPECT_TRUE(progress.may_restart(kNow + seconds(1)));
}

TEST(RestartDecider, AllowsNoneBesideWhatCannotBeKilled) {
  RestartDecider progress = progress_of(9);
  progress.forbid_restarts();
  EXPECT_FALSE(progress.may_restart(kNow));
}

TEST(RestartDecider, CountsAttemptsThatEndSoonWithTheSameWordsWhateverTheRank) {
  RestartDecider progress = progress_of(9, 0);
  for (int attempt = 0; attempt < 3; ++attempt) {
    Failure failure = failure_of(attempt % 2);
    failure.last_lines = {"Traceback", "FileNotFoundError: nothere.py"};
    progress.judge(failure, std::nullopt, seconds(1));
    EXPECT_EQ(progress.alike(), attempt + 1);
  }
  progress.judge(failure_of(1), std::nullopt, seconds(1));
  EXPECT_EQ(progress.alike(), 0) << "it said nothing";
}

TEST(RestartDecider, IsNoneWhereTheSameRankFailsSoonAgain) {
  RestartDecider progress = progress_of(9, 2);
  progress.judge(failure_of(1), std::nullopt, seconds(1));
  EXPECT_FALSE(progress.is_hopeless());
  progress.judge(failure_of(2), std::nullopt, seconds(1));
  EXPECT_FALSE(progress.is_hopeless()) << "another one";
  progress.judge(failure_of(2), std::nullopt, seconds(1));
  EXPECT_TRUE(progress.is_hopeless());
  EXPECT_EQ(progress.without_progress(), 2);
}

TEST(RestartDecider, IsWhatTheFileShowsWhereThereIsOne) {
  RestartDecider progress = progress_of(9, 2);
  progress.judge(failure_of(1), false, seconds(1'000));
  progress.judge(std::nullopt, false, seconds(1'000));
  EXPECT_TRUE(progress.is_hopeless());
  progress.judge(failure_of(1), true, seconds(1));
  EXPECT_FALSE(progress.is_hopeless());
}

TEST(RestartDecider, WaitsLongerFromRestartToRestartUntilOneRunsForLong) {
  RestartDecider progress = progress_of(9);
  progress.judge(failure_of(1), true, seconds(1));
  progress.note_restart(kNow, seconds(1));
  EXPECT_EQ(progress.backoff(), seconds(0));
  progress.note_restart(kNow, seconds(1));
  EXPECT_EQ(progress.backoff(), seconds(1));
  progress.note_restart(kNow, seconds(1));
  EXPECT_EQ(progress.backoff(), seconds(2));
  progress.note_restart(kNow, seconds(300));
  EXPECT_EQ(progress.backoff(), seconds(0));
}

TEST(RestartDecider, DoesNotWaitWhereNoWorkerHasFailed) {
  RestartDecider progress = progress_of(9);
  progress.judge(failure_of(1), true, seconds(1));
  progress.note_restart(kNow, seconds(1));
  progress.note_restart(kNow, seconds(1));
  EXPECT_EQ(progress.backoff(), seconds(1));
  progress.judge(std::nullopt, std::nullopt, seconds(1));  // a node has left
  progress.note_restart(kNow, seconds(1));
  EXPECT_EQ(progress.backoff(), seconds(0));
}

}  // namespace
}  // namespace muster::gang
