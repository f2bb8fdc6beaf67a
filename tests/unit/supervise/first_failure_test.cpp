#include "supervise/first_failure.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

namespace muster {
namespace {

Failure failure_with(ExitStatus status, std::vector<std::string> last_lines = {}) {
  Failure failure;
  failure.status = status;
  failure.last_lines = std::move(last_lines);
  return failure;
}

TEST(TraceOf, ASignalIsACrash) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGKILL, SIGSYS, SIGXCPU, SIGABRT}) {
    EXPECT_EQ(classify(failure_with(ExitStatus::signalled(signal))), FailureKind::Crash) << signal;
  }
}

TEST(TraceOf, AStartErrorIsNoConsequence) {
  Failure failure;
  failure.start_error = "cannot execute 'train': no such file";
  EXPECT_EQ(classify(failure), FailureKind::Crash);
}

TEST(TraceOf, ABrokenConnectionEndsAProcessBySigpipe) {
  EXPECT_EQ(classify(failure_with(ExitStatus::signalled(SIGPIPE))), FailureKind::LostPeer);
}

TEST(TraceOf, LastLinesClassifyAnAbort) {
  const ExitStatus abort = ExitStatus::signalled(SIGABRT);
  EXPECT_EQ(classify(failure_with(abort, {"Assertion `x' failed"})), FailureKind::Crash);
  EXPECT_EQ(classify(failure_with(abort, {"what(): NCCL error: remote process exited or there was a network error"})),
            FailureKind::LostPeer);
}

TEST(TraceOf, ACrashStaysACrashWhateverWasWrittenBefore) {
  EXPECT_EQ(classify(failure_with(ExitStatus::signalled(SIGSEGV), {"Connection reset by peer"})), FailureKind::Crash);
}

TEST(TraceOf, LastLinesDistinguishALostPeerFromAnError) {
  const ExitStatus one = ExitStatus::exited(1);
  EXPECT_EQ(classify(failure_with(one, {"Traceback (most recent call last):", "ValueError: x"})),
            FailureKind::Traceback);
  EXPECT_EQ(classify(failure_with(one, {"Traceback (most recent call last):",
                                        "RuntimeError: [gloo] Connection closed by peer [10.0.0.1]"})),
            FailureKind::LostPeer);
  EXPECT_EQ(classify(failure_with(one, {"step 17"})), FailureKind::ExitCode);
  EXPECT_EQ(classify(failure_with(one)), FailureKind::ExitCode);
}

TEST(TraceOf, RecognizesLostPeerMessagesOfLibraries) {
  for (const char* const words : {
           "RuntimeError: Timed out waiting 1800000ms for recv operation to complete",
           "socketProgress: Connection closed by remote peer node1<45074>",
           "DistStoreError: recvValue failed on SocketImpl(fd=3): failed to recv, got 0 bytes",
           "EI0006: Getting socket times out. Reason: Remote Rank did not send the data in time.",
           "MPI_ERR_PROC_FAILED: Process Failure",
           "Communication error with rank 3: Connection reset",
           "heartbeat timeout. This indicates that the remote task has failed, got preempted",
       }) {
    EXPECT_EQ(classify(failure_with(ExitStatus::exited(1), {words})), FailureKind::LostPeer) << words;
  }
}

TEST(TraceOf, AMessageThatNamesTheMissingRankIsNoConsequence) {
  const std::vector<std::string> leader = {"RuntimeError: Rank 1 failed to pass monitoredBarrier in 2000 ms",
                                           " Original exception: ", "Connection closed by peer [127.0.0.1]:4711"};
  EXPECT_EQ(classify(failure_with(ExitStatus::exited(1), leader)), FailureKind::Traceback);
  EXPECT_EQ(
      classify(failure_with(ExitStatus::exited(1),
                            {"RuntimeError: Rank 2 successfully reached monitoredBarrier, but received errors "
                             "while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank."})),
      FailureKind::LostPeer);
  EXPECT_TRUE(shows_own_error(leader));
  EXPECT_TRUE(shows_own_error({"Traceback (most recent call last):", "ValueError: x"}));
  EXPECT_FALSE(shows_own_error({"Traceback (most recent call last):", "RuntimeError: Connection closed by peer"}));
  EXPECT_FALSE(shows_own_error({"step 17"}));
  EXPECT_FALSE(shows_own_error({}));
}

TEST(TraceOf, AnErrorSimilarToALostPeer) {
  for (const char* const words :
       {"EI0004: The ranktable or rank is invalid", "error: Timed out waiting for the data set"}) {
    EXPECT_NE(classify(failure_with(ExitStatus::exited(1), {words})), FailureKind::LostPeer) << words;
  }
}

TEST(TraceOf, TheErrorFileCountsAsWell) {
  Failure failure = failure_with(ExitStatus::exited(1));
  failure.error_message = "ValueError: x";
  EXPECT_EQ(classify(failure), FailureKind::Traceback);
  failure.error_message = "NCCL: ncclRemoteError";
  EXPECT_EQ(classify(failure), FailureKind::LostPeer);
}

TEST(LikeliestFirst, ACrashOutranksAnErrorAnErrorALostPeer) {
  const Failure lost_peer = failure_with(ExitStatus::exited(1), {"Broken pipe"});
  const Failure code = failure_with(ExitStatus::exited(1));
  const Failure traceback = failure_with(ExitStatus::exited(1), {"Traceback (most recent call last):"});
  const Failure crash = failure_with(ExitStatus::signalled(SIGSEGV));

  EXPECT_EQ(most_likely_first(std::vector{lost_peer, code, traceback, crash}), 3U);
  EXPECT_EQ(most_likely_first(std::vector{lost_peer, code, traceback}), 2U);
  EXPECT_EQ(most_likely_first(std::vector{lost_peer, code}), 1U);
}

TEST(LikeliestFirst, TheFirstOfSimilarFailuresIsNamed) {
  const Failure code = failure_with(ExitStatus::exited(1));
  EXPECT_EQ(most_likely_first(std::vector{code, code}), 0U);
  EXPECT_EQ(most_likely_first(std::vector{code}), 0U);
}

Failure error_at(std::uint64_t turn, int node = 0) {
  Failure failure = failure_with(ExitStatus::exited(1), {"Traceback (most recent call last):", "AssertionError"});
  failure.node = NodeRank{node};
  failure.error_at = ReadMoment{.turn = turn, .number = turn};
  return failure;
}

TEST(LikeliestFirst, OfTwoErrorsTheOneWrittenFirstIsNamed) {
  std::vector<Failure> suspects = {error_at(5), error_at(3), error_at(4)};

  const Failure first = take_most_likely(suspects);
  EXPECT_EQ(first.error_at->turn, 3U);
  EXPECT_TRUE(first.wrote_first);
  EXPECT_FALSE(first.knows_order);
}

TEST(LikeliestFirst, AnEarlierErrorDoesNotOutrankBetterEvidence) {
  Failure lost_peer = error_at(1);
  lost_peer.last_lines = {"Traceback (most recent call last):", "ConnectionResetError: Connection reset by peer"};
  std::vector<Failure> suspects = {lost_peer, error_at(2)};

  const Failure first = take_most_likely(suspects);
  EXPECT_EQ(first.error_at->turn, 2U);
  EXPECT_FALSE(first.wrote_first) << "the other one looks different";
}

TEST(LikeliestFirst, WhereAMomentIsUnknownTheOrderOfTheEndsCounts) {
  Failure unknown = error_at(9);
  unknown.error_at.reset();
  std::vector<Failure> suspects = {unknown, error_at(3)};

  const Failure first = take_most_likely(suspects);
  EXPECT_FALSE(first.error_at);
  EXPECT_FALSE(first.wrote_first);
}

TEST(LikeliestFirst, MomentsOfTwoNodesAreNotCompared) {
  std::vector<Failure> suspects = {error_at(5, 0), error_at(3, 1)};
  suspects[0].wrote_first = true;  // of its node

  const Failure first = take_most_likely(suspects);
  EXPECT_EQ(first.node.value, 0);
  EXPECT_FALSE(first.wrote_first);
}

TEST(LikeliestFirst, WhatANodeKnowsOfItsRanksStays) {
  std::vector<Failure> suspects = {error_at(5)};
  suspects[0].wrote_first = true;

  EXPECT_TRUE(take_most_likely(suspects).wrote_first);
}

TEST(OtherFailures, KeepTheRankThatWasAskedHoweverManyVictimsThereAre) {
  OtherFailures others;
  for (std::size_t i = 0; i < OtherFailures::kMostListed; ++i) {
    others.add(failure_with(ExitStatus::exited(1)));
  }
  Failure asked = failure_with(ExitStatus::signalled(SIGTERM));
  asked.was_asked = true;
  others.add(asked);

  EXPECT_EQ(others.count, static_cast<int>(OtherFailures::kMostListed) + 1);
  EXPECT_EQ(others.listed.size(), OtherFailures::kMostListed);
  EXPECT_TRUE(others.listed.back().was_asked);
}

TEST(OtherFailures, KeepsFewLastLinesAndCountsAllFailures) {
  OtherFailures others;
  for (int i = 0; i < 20; ++i) {
    others.add(failure_with(ExitStatus::exited(1), {"1", "2", "3", std::string(500, 'x')}));
  }
  OtherFailures more;
  more.add(std::move(others));

  EXPECT_EQ(more.count, 20);
  EXPECT_EQ(more.listed.size(), OtherFailures::kMostListed);
  EXPECT_EQ(more.listed[0].last_lines.size(), 3U);
  EXPECT_EQ(more.listed[0].last_lines[0], "2");
  EXPECT_LE(more.listed[0].last_lines[2].size(), 210U);
}

}  // namespace
}  // namespace muster
