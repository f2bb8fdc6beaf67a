// The parts of the leader that decide one thing each: fence, wait, attempt, early exits.
#include "gang/decide/current_attempt.hpp"
#include "gang/decide/early_exit.hpp"
#include "gang/decide/fence.hpp"
#include "gang/decide/gathering.hpp"
#include "gang/decide/words.hpp"

#include <gtest/gtest.h>

namespace muster::gang {
namespace {

using std::chrono::seconds;

constexpr Instant kNow{std::chrono::hours(1'000)};

template <typename Member, typename Value>
GangOptions with(Member member, Value value) {
  GangOptions options;
  options.*member = value;
  return options;
}

TEST(Fence, EndsTwoHeartbeatTimeoutsAndTwoSecondsAfterTheLastWord) {
  Fence fence(seconds(8), kNow);
  EXPECT_EQ(fence.until(), kNow);
  fence.note_loss(kNow + seconds(5));
  fence.note_loss(kNow);
  EXPECT_EQ(fence.until(), kNow + seconds(23)) << "the one that was heard last";
}

TEST(Gathering, WakesForTheProgressTheLookUpAndTheDeadline) {
  Gathering gathering(with(&GangOptions::timeout, seconds(20)), kNow);
  EXPECT_EQ(gathering.next_wake(), kNow + seconds(5));
  EXPECT_FALSE(gathering.take_progress(kNow + seconds(4)));
  EXPECT_TRUE(gathering.take_progress(kNow + seconds(5)));
  EXPECT_FALSE(gathering.take_progress(kNow + seconds(5)));
  EXPECT_EQ(gathering.next_wake(), kNow + seconds(17));
  EXPECT_FALSE(gathering.take_look_up(kNow + seconds(16)));
  EXPECT_TRUE(gathering.take_look_up(kNow + seconds(17)));
  EXPECT_FALSE(gathering.take_look_up(kNow + seconds(18)));
  EXPECT_EQ(gathering.next_wake(), kNow + seconds(20));
}

TEST(Gathering, CallsForTheLastOnceEnoughAreHere) {
  Gathering gathering(with(&GangOptions::last_call, seconds(3)), kNow);
  EXPECT_FALSE(gathering.is_last_call_over(kNow + seconds(600)));
  gathering.note_enough(true, true, kNow);
  gathering.note_enough(true, true, kNow + seconds(2));
  EXPECT_EQ(gathering.next_wake(), kNow + seconds(3));
  EXPECT_TRUE(gathering.is_last_call_over(kNow + seconds(3)));
  gathering.note_enough(false, true, kNow + seconds(3));
  EXPECT_FALSE(gathering.is_last_call_over(kNow + seconds(3)));
  gathering.note_enough(true, false, kNow + seconds(4));
  EXPECT_TRUE(gathering.is_last_call_over(kNow + seconds(4))) << "nobody is waited for";
}

TEST(CurrentAttempt, CountsItsNodesAndKeepsTheFirstFailure) {
  CurrentAttempt attempt;
  attempt.begin({kOwnLink, 7}, kNow);
  attempt.note_first_failure(failure_of(1));
  attempt.complete_first_failure(failure_of(2));
  EXPECT_EQ(attempt.first_failure()->global_rank.value, 1);
  Failure whole = failure_of(1);
  whole.last_lines = {"why"};
  attempt.complete_first_failure(whole);
  EXPECT_EQ(attempt.first_failure()->last_lines, whole.last_lines);
  attempt.note_node_ended();
  EXPECT_FALSE(attempt.is_over());
  attempt.note_node_ended();
  EXPECT_TRUE(attempt.is_over());

  attempt.advance();
  attempt.begin({kOwnLink}, kNow + seconds(9));
  EXPECT_EQ(attempt.number(), 1);
  EXPECT_FALSE(attempt.first_failure());
  EXPECT_EQ(attempt.ran(kNow + seconds(10)), seconds(1));
}

TEST(CurrentAttempt, HasMadeProgressIfAnyNodeHas) {
  CurrentAttempt attempt;
  attempt.begin({kOwnLink, 7}, kNow);
  attempt.note_progress(std::nullopt);
  EXPECT_EQ(attempt.made_progress(), std::nullopt);
  attempt.note_progress(true);
  attempt.note_progress(false);
  EXPECT_EQ(attempt.made_progress(), true);
}

TEST(EarlyExit, IsNothingToWaitForUnlessTheUserSaysSo) {
  EarlyExit early(GangOptions{});
  early.note_success(NodeRank{0}, "host-a", success_of(0), kNow);
  EXPECT_EQ(early.deadline(), std::nullopt);
  EXPECT_TRUE(early.has_rank_zero_ended());
  early.begin();
  EXPECT_FALSE(early.has_rank_zero_ended());
}

TEST(EarlyExit, IsAFailureWhereItIsForbiddenAndElseTheOthersHang) {
  EarlyExit forbidden(with(&GangOptions::on_early_exit, OnEarlyExit::Fail));
  forbidden.note_success(NodeRank{1}, "host-b", success_of(3), kNow);
  forbidden.note_success(NodeRank{0}, "host-a", success_of(1), kNow + seconds(1));
  EXPECT_EQ(forbidden.deadline(), kNow + seconds(10));
  const JobEnd failed = forbidden.end_after_deadline(kNow + seconds(10));
  EXPECT_EQ(words_of(failed), "failed 1");
  EXPECT_EQ(failed.first_failure->global_rank.value, 3);

  EarlyExit limited(with(&GangOptions::early_exit_timeout, seconds(5)));
  limited.note_success(NodeRank{1}, "host-b", success_of(3), kNow);
  EXPECT_EQ(limited.deadline(), kNow + seconds(5));
  EXPECT_EQ(words_of(limited.end_after_deadline(kNow + seconds(5))), "hung 86");
}

}  // namespace
}  // namespace muster::gang
