// The parts of the leader that decide one thing each: fence, wait, attempt, early exits.
#include "gang/protocol/current_attempt.hpp"
#include "gang/protocol/fence.hpp"
#include "gang/protocol/restart_decider.hpp"
#include "gang/protocol/words.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <utility>

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

TEST(RendezvousTimer, WakesForTheProgressTheLookUpAndTheDeadline) {
  RendezvousTimer gathering(with(&GangOptions::timeout, seconds(20)), kNow);
  EXPECT_EQ(gathering.next_wake(), kNow + seconds(5));
  EXPECT_FALSE(gathering.take_progress(kNow + seconds(4)));
  EXPECT_TRUE(gathering.take_progress(kNow + seconds(5)));
  EXPECT_FALSE(gathering.take_progress(kNow + seconds(5)));
  EXPECT_EQ(gathering.next_wake(), kNow + seconds(17));
  EXPECT_FALSE(gathering.take_resolve(kNow + seconds(16)));
  EXPECT_TRUE(gathering.take_resolve(kNow + seconds(17)));
  EXPECT_FALSE(gathering.take_resolve(kNow + seconds(18)));
  EXPECT_EQ(gathering.next_wake(), kNow + seconds(20));
}

TEST(RendezvousTimer, CallsForTheLastOnceEnoughAreHere) {
  RendezvousTimer gathering(with(&GangOptions::last_call, seconds(3)), kNow);
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
  attempt.note_failure(failure_of(1));
  Failure whole = failure_of(1);
  whole.last_lines = {"why"};
  attempt.note_failure(whole);
  attempt.note_node_ended();
  EXPECT_FALSE(attempt.is_over());
  attempt.note_node_ended();
  EXPECT_TRUE(attempt.is_over());
  attempt.rank_failures();
  EXPECT_EQ(attempt.first_failure(), whole) << "certain, and with its last lines";
  EXPECT_EQ(attempt.other_failures().count, 0);

  attempt.advance();
  attempt.begin({kOwnLink}, kNow + seconds(9));
  EXPECT_EQ(attempt.number(), 1);
  EXPECT_FALSE(attempt.first_failure());
  EXPECT_EQ(attempt.ran(kNow + seconds(10)), seconds(1));
}

/// The failures of two nodes, of which the leader heard in this order.
CurrentAttempt attempt_with(Failure first, Failure second) {
  CurrentAttempt attempt;
  attempt.begin({kOwnLink, 7}, kNow);
  attempt.note_first_failure(first);
  attempt.note_failure(std::move(first));
  attempt.note_failure(std::move(second));
  attempt.rank_failures();
  return attempt;
}

TEST(CurrentAttempt, PrefersACrashOfOneNodeToALostPeerOfAnother) {
  Failure lost_peer = failure_of(0);
  lost_peer.last_lines = {"RuntimeError: Connection reset by peer"};
  const Failure crash = failure_of(2, ExitStatus::signalled(SIGSEGV));

  const CurrentAttempt attempt = attempt_with(lost_peer, crash);

  EXPECT_EQ(attempt.first_failure()->global_rank.value, 2);
  EXPECT_FALSE(attempt.first_failure()->knows_order) << "the clocks of two nodes are not compared";
  ASSERT_EQ(attempt.other_failures().count, 1);
  EXPECT_EQ(attempt.other_failures().listed[0].global_rank.value, 0);
  EXPECT_FALSE(attempt.other_failures().listed[0].knows_order);
}

TEST(CurrentAttempt, NamesTheFirstReportedOfSimilarFailures) {
  const CurrentAttempt attempt = attempt_with(failure_of(3), failure_of(0));

  EXPECT_EQ(attempt.first_failure()->global_rank.value, 3);
  EXPECT_FALSE(attempt.first_failure()->knows_order);
}

/// A rank that only lost its peer, and one that muster asked to end, which had written these lines before.
CurrentAttempt attempt_with_asked(const std::vector<std::string>& lines, bool has_leaver = false) {
  Failure lost_peer = failure_of(0, ExitStatus::exited(3));
  lost_peer.exit_code = 3;
  lost_peer.last_lines = {"RuntimeError: Connection reset by peer"};
  Failure asked = failure_of(2, ExitStatus::signalled(SIGTERM));
  asked.was_asked = true;
  asked.last_lines = lines;
  OtherFailures others;
  others.add(asked);
  CurrentAttempt attempt;
  attempt.begin({kOwnLink, 7}, kNow);
  if (has_leaver) {
    Succeeded left;
    left.pid = 4711;
    attempt.note_success(NodeRank{0}, "host-a", left);
  }
  attempt.note_first_failure(lost_peer);
  attempt.note_failure(std::move(lost_peer));
  attempt.note_other_failures(std::move(others));
  attempt.rank_failures();
  return attempt;
}

TEST(CurrentAttempt, NamesTheRankWhoseErrorCameBeforeItsVictimsAndWhoseEndCameAfterThem) {
  const CurrentAttempt attempt = attempt_with_asked({"Traceback (most recent call last):", "KeyError: 'x'"});

  const Failure& first = *attempt.first_failure();
  EXPECT_EQ(first.global_rank.value, 2);
  EXPECT_TRUE(first.was_asked);
  EXPECT_FALSE(first.knows_order);
  EXPECT_EQ(first.exit_code, 3) << "its own would be that of muster's signal";
  ASSERT_EQ(attempt.other_failures().count, 1);
  EXPECT_EQ(attempt.other_failures().listed[0].global_rank.value, 0);
}

TEST(CurrentAttempt, DoesNotNameTheRankThatNamesAnother) {
  const CurrentAttempt attempt =
      attempt_with_asked({"Traceback (most recent call last):", "Rank 3 failed to pass monitoredBarrier in 2000 ms"});
  EXPECT_EQ(attempt.first_failure()->global_rank.value, 0);
}

TEST(CurrentAttempt, DoesNotNameARankWithAnErrorWhereAnotherHadLeft) {
  const CurrentAttempt attempt = attempt_with_asked({"Traceback (most recent call last):", "KeyError: 'x'"}, true);
  EXPECT_EQ(attempt.first_failure()->global_rank.value, 0) << "it lost the rank that left, and says so";
}

TEST(CurrentAttempt, KeepsAnEarlyExitWhateverFailsThen) {
  Failure early = failure_of(1, ExitStatus::exited(0));
  early.is_early_exit = true;
  CurrentAttempt attempt;
  attempt.begin({kOwnLink, 7}, kNow);
  attempt.note_first_failure(early);
  attempt.note_failure(failure_of(2, ExitStatus::signalled(SIGSEGV)));
  attempt.rank_failures();

  EXPECT_EQ(attempt.first_failure(), early);
  EXPECT_EQ(attempt.other_failures().count, 1);
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
