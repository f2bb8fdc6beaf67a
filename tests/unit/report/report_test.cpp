// Reports of a job: the summary for people, and the document for programs.
#include "base/json.hpp"
#include "base/text.hpp"
#include "report/outcomes.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace muster {
namespace {

using Lines = std::vector<std::string>;

// For people

TEST(DescribeOutcome, IsOneQuietLineOnSuccess) {
  const auto lines = describe_outcome(success());

  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].text, "4 workers succeeded in 1.30 s");
  EXPECT_EQ(lines[0].level, Level::Info);
}

TEST(DescribeOutcome, CallsNoSchedulerAWorker) {
  Outcome outcome = success();
  outcome.workers.back().label = "scheduler";

  EXPECT_EQ(texts_of(outcome), Lines{"4 processes succeeded in 1.30 s"});
}

TEST(DescribeOutcome, CallsMpirunNoRank) {
  Outcome outcome = failure(ExitStatus::exited(7));
  outcome.workers = {outcome.workers[2], outcome.workers[0]};
  outcome.workers[0].label = outcome.end.first_failure->label = "mpirun";
  outcome.workers[1].label = "daemon";
  outcome.workers[0].is_unranked = outcome.workers[1].is_unranked = true;
  outcome.end.first_failure->is_unranked = true;

  EXPECT_EQ(texts_of(outcome), (Lines{"mpirun failed first: node 1 (gpu-17), pid 4702, exit code 7, after 1.25 s, "
                                      "attempt 0",
                                      "stopped by muster: daemon", "exit code 7: that of mpirun, the first failure"}));

  outcome.end = success().end;
  outcome.nodes = outcome.end.gang.nodes = 2;
  outcome.workers.pop_back();
  EXPECT_EQ(texts_of(outcome), Lines{"mpirun here and the others of 2 nodes succeeded in 1.30 s"});
}

TEST(DescribeOutcome, NamesTheFirstFailureAndTheStoppedWorkers) {
  Outcome outcome = failure(ExitStatus::signalled(SIGABRT));
  outcome.end.first_failure->last_lines = {"Traceback (most recent call last):", "", "RuntimeError: x"};

  EXPECT_EQ(texts_of(outcome), (Lines{"rank 10 failed first: node 1 (gpu-17), local rank 2, pid 4702, signal SIGABRT "
                                      "(Aborted), after 1.25 s, attempt 0",
                                      "the last lines of its standard error:", "  | Traceback (most recent call last):",
                                      "  | ", "  | RuntimeError: x", "stopped by muster: ranks 8-9, 11",
                                      "exit code 134: that of rank 10, the first failure"}));
}

TEST(DescribeOutcome, NamesAnExitCodeAndACore) {
  EXPECT_NE(texts_of(failure(ExitStatus::exited(3)))[0].find("pid 4702, exit code 3, after"), std::string::npos);
  EXPECT_NE(texts_of(failure(ExitStatus::signalled(SIGSEGV, true)))[0].find(
                "signal SIGSEGV (Segmentation fault), core dumped, after"),
            std::string::npos);
}

TEST(DescribeOutcome, ExplainsTheFailureOfAWorkerThatExitedWithZero) {
  Outcome outcome = failure(ExitStatus::exited(0));
  outcome.end.first_failure->start_error = "ended without MPI_Finalize";

  EXPECT_NE(texts_of(outcome)[0].find("exit code 0 (ended without MPI_Finalize), after"), std::string::npos);
}

TEST(DescribeOutcome, EndsWithTheExitCodeWheneverTheJobDidNotSucceed) {
  EXPECT_EQ(texts_of(failure(ExitStatus::exited(3))).back(), "exit code 3: that of rank 10, the first failure");
  EXPECT_EQ(texts_of(stop()).back(), "exit code 143: the job was asked to end from outside");
}

TEST(DescribeOutcome, NamesTheSignalThatStoppedTheJob) {
  EXPECT_EQ(texts_of(stop()), (Lines{"stopped by SIGTERM", "stopped by muster: ranks 8-11",
                                     "exit code 143: the job was asked to end from outside"}));
}

TEST(DescribeOutcome, NamesTheHangOfAJobThatWasStopped) {
  Outcome outcome = stop();
  outcome.hang = R"({"why":"quiet","verdict":["rank 1 hangs","more"]})";
  EXPECT_EQ(texts_of(outcome)[1], "the job hung before it was stopped: rank 1 hangs");
  outcome.hang = R"({"verdict":[]})";
  EXPECT_EQ(texts_of(outcome)[1], "stopped by muster: ranks 8-11");
}

TEST(DescribeOutcome, ReportsWhyAWorkerCouldNotBeStarted) {
  Outcome outcome = failure(ExitStatus::exited(127));
  outcome.end.first_failure->status = std::nullopt;
  outcome.end.first_failure->start_error = "cannot run 'nosuch': not found";
  for (const std::size_t worker : {2U, 3U}) {
    outcome.workers[worker].outcome = WorkerOutcome::NeverStarted;
    outcome.workers[worker].pid = -1;
    outcome.workers[worker].status.reset();
  }

  outcome.end.kind = EndKind::NotFound;
  EXPECT_EQ(texts_of(outcome), (Lines{"cannot run 'nosuch': not found: rank 10 could not be started, node 1 (gpu-17)",
                                      "stopped by muster: ranks 8-9", "never started: ranks 10-11",
                                      "exit code 127: the program was not found; correct its name or the image"}));

  outcome.end.first_failure->start_error = "cannot run './tran.py': not found; did you mean 'train.py'?";
  EXPECT_EQ(texts_of(outcome)[0],
            "rank 10 could not be started, node 1 (gpu-17): cannot run './tran.py': not found; "
            "did you mean 'train.py'?");
}

TEST(DescribeOutcome, NamesSucceededAndUnkillableWorkers) {
  Outcome outcome = failure(ExitStatus::exited(1));
  outcome.workers[0].outcome = WorkerOutcome::Succeeded;
  outcome.workers[3].outcome = WorkerOutcome::Running;

  const Lines lines = texts_of(outcome);
  EXPECT_EQ(Lines(lines.begin() + 1, lines.end()),
            (Lines{"stopped by muster: rank 9", "succeeded: rank 8", "could not be killed: rank 11",
                   "exit code 1: that of rank 10, the first failure"}));
}

TEST(DescribeOutcome, ShowsTheMessageOfTheErrorFile) {
  Outcome outcome = failure(ExitStatus::exited(1));
  outcome.end.first_failure->error_message = "ValueError: no data";

  EXPECT_EQ(texts_of(outcome)[1], "its error file says: ValueError: no data");
}

/// Another failure of the job, which may have been the first one.
Failure other_failure(int rank) {
  Failure other;
  other.node = NodeRank{1};
  other.host = "gpu-17";
  other.global_rank = GlobalRank{rank};
  other.status = ExitStatus::exited(1);
  other.run_time_seconds = 1.253;
  other.last_lines = {"first", "Connection reset by peer"};
  other.knows_order = false;
  return other;
}

TEST(DescribeOutcome, SaysProbablyWhereOthersMayHaveFailedFirst) {
  Outcome outcome = failure(ExitStatus::signalled(SIGSEGV));
  outcome.end.first_failure->knows_order = false;
  outcome.end.also_failed.add(other_failure(8));
  outcome.end.also_failed.add(other_failure(9));

  const Lines lines = texts_of(outcome);
  EXPECT_EQ(lines[0].find("rank 10 probably failed first: node 1 (gpu-17)"), 0U);
  EXPECT_EQ(lines[1],
            "it is named because a signal ended it; these failed so close to it that their order is not known: "
            "ranks 8-9");
  EXPECT_EQ(lines[2], "also failed: ranks 8-9, node 1 (gpu-17), exit code 1");
  EXPECT_EQ(lines[3], "  | Connection reset by peer");
}

TEST(DescribeOutcome, DoesNotTakeJoinedStreamsForStandardError) {
  Outcome outcome = failure(ExitStatus::exited(1));
  outcome.end.first_failure->last_lines = {"step 1", "ValueError: x"};
  outcome.end.first_failure->has_joined_streams = true;

  EXPECT_EQ(texts_of(outcome)[1], "its last lines:");
}

TEST(DescribeOutcome, NamesTheRanksOfAllNodesThatErredAfterANotice) {
  Outcome outcome = failure(ExitStatus::exited(1));
  outcome.end =
      make_end(EndKind::Unsaved, "suspended (muster suspend): all processes had ended 0.10 s after the notice");
  outcome.end.erred_after_notice = {2, 40};
  for (WorkerResult& worker : outcome.workers) {
    worker.outcome = WorkerOutcome::Succeeded;
  }

  const Lines lines = texts_of(outcome);
  EXPECT_EQ(std::ranges::count(lines, "ended with an error after the notice: ranks 2, 40"), 1);
}

TEST(DescribeOutcome, AdvisesASignalForAJobThatHasNone) {
  constexpr const char* kAdvice = "; if the program saves at SIGTERM, start the job with --tell-workers-by TERM";
  Outcome outcome = success();
  outcome.end = make_end(EndKind::Unsaved, "suspended (SIGTERM): nobody had saved");
  EXPECT_TRUE(texts_of(outcome).back().ends_with(kAdvice));
  outcome.signals_workers = true;
  EXPECT_TRUE(texts_of(outcome).back().ends_with("or give it longer (--suspend-timeout)"));
  outcome = success();
  outcome.end = make_end(EndKind::Suspended, "suspended (SIGTERM): rank 0 saved");
  EXPECT_FALSE(texts_of(outcome).back().ends_with(kAdvice));
}

TEST(DescribeOutcome, SaysWhoWroteItsErrorFirst) {
  Outcome outcome = failure(ExitStatus::exited(1));
  outcome.end.first_failure->knows_order = false;
  outcome.end.first_failure->wrote_first = true;
  outcome.end.first_failure->last_lines = {"RuntimeError: CUDA error"};
  outcome.end.also_failed.add(other_failure(8));

  EXPECT_EQ(texts_of(outcome)[1],
            "it is named because it had written its error before the others wrote theirs; these failed so close to it "
            "that the order of their ends is not known: rank 8");
}

TEST(DescribeOutcome, SaysThatTheFirstOfSeveralErrorsIsNotKnown) {
  Outcome outcome = failure(ExitStatus::exited(1));
  outcome.end.first_failure->knows_order = false;
  outcome.end.first_failure->last_lines = {"RuntimeError: CUDA error"};
  Failure other = other_failure(8);
  other.last_lines = {"ValueError: x"};
  outcome.end.also_failed.add(other);
  EXPECT_EQ(texts_of(outcome)[1], "ranks 8, 10 each show an error of their own; which was first is not known");
  EXPECT_EQ(texts_of(outcome)[2], "the last lines of its standard error:");

  outcome.end.also_failed.add(other_failure(9));
  EXPECT_EQ(texts_of(outcome)[1], "ranks 8, 10 each show an error of their own; which was first is not known");
  EXPECT_EQ(texts_of(outcome)[2],
            "it is named because its output shows an error of its own; these failed so close to it that their order is "
            "not known: rank 9");
}

TEST(DescribeOutcome, ShowsFewOfMany) {
  Outcome outcome = failure(ExitStatus::signalled(SIGSEGV));
  outcome.end.first_failure->knows_order = false;
  for (int rank = 20; rank < 83; ++rank) {
    outcome.end.also_failed.add(other_failure(rank));
  }

  const Lines lines = texts_of(outcome);
  EXPECT_NE(lines[1].find("ranks 20-35 and others"), std::string::npos) << lines[1];
  EXPECT_EQ(lines[2], "also failed: ranks 20-35, node 1 (gpu-17), exit code 1");
  EXPECT_EQ(lines[4], "also failed: 47 more");

  const json::value document = to_document(outcome);
  EXPECT_EQ(document.at("also_failed").as_array().size(), OtherFailures::kMostListed);
  EXPECT_EQ(document.at("also_failed_count"), 63);
  EXPECT_EQ(document.at("also_failed").at(0).at("exit_code"), 1);
  EXPECT_EQ(document.at("also_failed").at(0).at("order_known"), false);
  EXPECT_EQ(document.at("first_failure").at("order_known"), false);
}

TEST(DescribeOutcome, ShowsWhatSeveralRanksSaidOnce) {
  Outcome outcome = failure(ExitStatus::exited(1));
  const std::string long_line(1'000, 'x');
  outcome.end.first_failure->last_lines = {"  File \"train.py\", line 3", long_line, "SyntaxError: invalid syntax"};
  for (const int rank : {8, 9, 11}) {
    Failure same = other_failure(rank);
    same.last_lines = outcome.end.first_failure->last_lines;
    same.node = NodeRank{rank == 11 ? 2 : 1};
    outcome.end.also_failed.add(same);
  }
  Failure other = other_failure(12);
  other.last_lines.back() = "MemoryError";
  outcome.end.also_failed.add(other);

  const Lines lines = texts_of(outcome);
  EXPECT_EQ((Lines{lines.begin() + 5, lines.begin() + 8}),
            (Lines{"also failed in the same way: ranks 8-9, 11, nodes 1-2, exit code 1",
                   "also failed: rank 12, node 1 (gpu-17), exit code 1, after 1.25 s", "  | MemoryError"}));
}

TEST(DescribeOutcome, TellsFailuresApartThatOnlyEndedAlike) {
  Outcome outcome = failure(ExitStatus::exited(1));
  outcome.end.first_failure->last_lines = {"RuntimeError: x"};
  Failure silent = other_failure(8);
  silent.last_lines.clear();
  Failure by_signal = other_failure(9);
  by_signal.last_lines = {"RuntimeError: x"};
  by_signal.status = ExitStatus::signalled(SIGABRT);
  outcome.end.also_failed.add(silent);
  outcome.end.also_failed.add(by_signal);

  const Lines lines = texts_of(outcome);
  EXPECT_EQ(lines[3], "also failed: rank 8, node 1 (gpu-17), exit code 1, after 1.25 s");
  EXPECT_EQ(lines[4], "also failed: rank 9, node 1 (gpu-17), signal SIGABRT (Aborted), after 1.25 s");
}

TEST(DescribeOutcome, ListsLaterFailuresWithoutDoubtingTheFirst) {
  Outcome outcome = failure(ExitStatus::exited(3));
  Failure later = other_failure(8);
  later.knows_order = true;
  later.last_lines.clear();
  outcome.end.also_failed.add(later);

  const Lines lines = texts_of(outcome);
  EXPECT_EQ(lines[0].find("rank 10 failed first: "), 0U);
  EXPECT_EQ(lines[1], "also failed: rank 8, node 1 (gpu-17), exit code 1, after 1.25 s");
}

TEST(DescribeOutcome, ShowsTheErrorOfARankThatWasOnlyAskedToEnd) {
  Outcome outcome = failure(ExitStatus::exited(3));
  Failure asked = other_failure(8);
  asked.was_asked = true;
  asked.knows_order = true;
  outcome.end.also_failed.add(asked);

  const Lines lines = texts_of(outcome);
  const auto at = std::find(lines.begin(), lines.end(),
                            "rank 8, node 1 (gpu-17), which was only asked to end, had written an error of its own "
                            "before:");
  ASSERT_GE(lines.end() - at, 3);
  EXPECT_EQ(at[1], "  | first");
  EXPECT_EQ(at[2], "  | Connection reset by peer");
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [](const auto& line) { return line.starts_with("also failed"); }),
            0);
  EXPECT_EQ(to_document(outcome).at("also_failed").at(0).at("asked_to_end"), true);
}

TEST(DescribeOutcome, DoesNotRepeatTheLinesOfTheFirstFailure) {
  Outcome outcome = failure(ExitStatus::exited(3));
  outcome.end.first_failure->last_lines = {"one", "KeyError"};
  Failure asked = other_failure(8);
  asked.was_asked = true;
  asked.last_lines = {"KeyError"};
  outcome.end.also_failed.add(asked);

  const Lines lines = texts_of(outcome);
  EXPECT_EQ(std::ranges::count(lines, "  | KeyError"), 1);
  EXPECT_EQ(
      std::ranges::count(lines, "rank 8, node 1 (gpu-17), which was only asked to end, had written the same before"),
      1);
}

TEST(DescribeOutcome, SaysWhyARankIsNamedThatEndedAfterItsVictims) {
  Outcome outcome = failure(ExitStatus::exited(3));
  outcome.nodes = outcome.end.gang.nodes = 2;
  outcome.end.first_failure->was_asked = true;
  outcome.end.first_failure->knows_order = false;
  outcome.end.also_failed.add(other_failure(8));

  const Lines lines = texts_of(outcome);
  EXPECT_EQ(lines[0].find("rank 10 probably failed first: "), 0U);
  EXPECT_EQ(
      lines[1],
      "it is named because it had written an error of its own before it was asked to end; these failed before it, but "
      "only because of a lost peer: rank 8");
  EXPECT_EQ(lines.back(), "exit code 3: rank 10 on node 1 (gpu-17) is probably the first failure");
}

TEST(DescribeOutcome, ShowsTheSameErrorOfSeveralThatWereOnlyAskedOnce) {
  Outcome outcome = failure(ExitStatus::exited(3));
  for (const int rank : {8, 9}) {
    Failure asked = other_failure(rank);
    asked.was_asked = true;
    outcome.end.also_failed.add(asked);
  }

  const Lines lines = texts_of(outcome);
  EXPECT_EQ(
      (Lines{lines.begin() + 1, lines.begin() + 4}),
      (Lines{"ranks 8-9, node 1 (gpu-17), which were only asked to end, had written an error of their own before, "
             "the same:",
             "  | first", "  | Connection reset by peer"}));
}

TEST(DescribeOutcome, NamesASignalThatWasPassedOn) {
  Outcome outcome = failure(ExitStatus::signalled(SIGUSR1));
  outcome.end.first_failure->was_passed_on = true;

  EXPECT_NE(texts_of(outcome)[0].find("signal SIGUSR1 (User defined signal 1), which muster passed on"),
            std::string::npos);
}

TEST(DescribeOutcome, NamesAFailureOnAnotherNode) {
  Outcome outcome = stop();
  outcome.nodes = 3;
  outcome.end = failure(ExitStatus::exited(3)).end;
  outcome.end.first_failure->node = NodeRank{2};
  outcome.end.first_failure->host = "gpu-18";

  EXPECT_EQ(texts_of(outcome)[0],
            "rank 10 failed first: node 2 (gpu-18), local rank 2, pid 4702, exit code 3, after "
            "1.25 s, attempt 0");
}

TEST(DescribeOutcome, ReportsWhyNoFailureIsNamed) {
  Outcome outcome = stop();
  outcome.nodes = 2;
  outcome.end.verdict = Verdict::Lost;
  outcome.end.exit_code = exit_code_of(EndKind::Lost);
  outcome.end.reason = "node 1, gpu-18 (10.0.0.2), was lost: it was silent for 8 s";

  EXPECT_EQ(texts_of(outcome),
            (Lines{"node 1, gpu-18 (10.0.0.2), was lost: it was silent for 8 s", "stopped by muster: ranks 8-11",
                   "exit code 69: a node was lost; start the job again elsewhere"}));
}

TEST(DescribeOutcome, KnowsNoProgressByItsKindAndNotByItsNumber) {
  Outcome outcome = failure(ExitStatus::exited(93));
  EXPECT_TRUE(texts_of(outcome)[0].starts_with("rank 10 failed first")) << texts_of(outcome)[0];

  const auto first = outcome.end.first_failure;
  outcome.end = make_end(EndKind::NoProgress, "no progress over 3 attempts");
  outcome.end.first_failure = first;
  EXPECT_EQ(texts_of(outcome)[0], "no progress over 3 attempts");
}

TEST(DescribeOutcome, ListsEarlierAttempts) {
  Outcome outcome = success();
  outcome.end.gang.past_attempts = {{0, "rank 3 on node 0 (gpu-17) failed (exit code 9)"}};

  EXPECT_EQ(texts_of(outcome)[0], "attempt 0 ended: rank 3 on node 0 (gpu-17) failed (exit code 9)");
  outcome.end.gang.past_attempts[0].last_lines = {"Traceback", "ValueError: NaN"};
  outcome.end.gang.past_attempts[0].also_failed = {"rank 1 on node 0 (gpu-17), exit code 1 | KeyError: 'x'"};
  EXPECT_EQ(texts_of(outcome)[1], "  | ValueError: NaN") << "the job goes on, and this is what is left of the reason";
  EXPECT_EQ(texts_of(outcome)[2], "also failed in attempt 0: rank 1 on node 0 (gpu-17), exit code 1 | KeyError: 'x'");
}

TEST(DescribeOutcome, ReportsALostNodeOnce) {
  Outcome outcome = success();
  outcome.end.gang.past_attempts = {{0, "node 1, gpu-18 (10.0.0.2), was lost", true},
                                    {1, "node 2, gpu-19 (10.0.0.3), was lost", true}};
  outcome.reported_attempts = {1};  // of the first one this node was no part

  EXPECT_EQ(texts_of(outcome),
            (Lines{"attempt 0 ended: node 1, gpu-18 (10.0.0.2), was lost", "4 workers succeeded in 1.30 s"}));
}

TEST(DescribeOutcome, NamesNoRanksWhereTheNodeNeverHadAPlace) {
  Outcome outcome = stop();
  outcome.has_place = false;
  for (WorkerResult& worker : outcome.workers) {
    worker.outcome = WorkerOutcome::NeverStarted;
  }

  EXPECT_EQ(texts_of(outcome), (Lines{"stopped by SIGTERM", "exit code 143: the job was asked to end from outside"}));
}

TEST(DescribeOutcome, SaysHowFarApartTheNodesCameWhenItWasLong) {
  Outcome outcome = success();
  outcome.nodes = 2;
  outcome.end.gang.nodes = 2;
  outcome.end.gang.arrival_skew_seconds = 120.2;
  outcome.end.gang.slowest = {{NodeRank{1}, "gpu-18", 120.2}, {NodeRank{0}, "gpu-17", 0}};

  EXPECT_EQ(texts_of(outcome)[0],
            "the nodes came 120.20 s apart, the last ones: node 1 (gpu-18) after 120.20 s, node 0 "
            "(gpu-17) after 0.00 s");
  EXPECT_EQ(texts_of(outcome)[1], "4 workers here and the others of 2 nodes succeeded in 1.30 s");
}

TEST(DescribeOutcome, SaysThatASpareWasNotNeeded) {
  Outcome outcome = success();
  outcome.nodes = 3;
  outcome.end.gang.nodes = 2;
  for (WorkerResult& worker : outcome.workers) {
    worker.outcome = WorkerOutcome::NeverStarted;
  }

  EXPECT_EQ(texts_of(outcome), Lines{"the job succeeded on 2 nodes, and this one was not needed"});
}

TEST(DescribeOutcome, NamesARankThatEndedEarly) {
  Outcome outcome = failure(ExitStatus::exited(0));
  outcome.end.exit_code = 1;
  outcome.end.reason = "rank 10 ended early: 10.00 s later others still run";
  outcome.end.first_failure->is_early_exit = true;

  EXPECT_EQ(texts_of(outcome)[0], "rank 10 ended early: 10.00 s later others still run");
  EXPECT_EQ(texts_of(outcome)[1].find("rank 10 ended while others worked on: node 1 (gpu-17)"), 0U);
}

TEST(DescribeOutcome, NamesAServiceThatFailed) {
  Outcome outcome = failure(ExitStatus::exited(1));
  Failure first;
  first.node = NodeRank{1};
  first.host = "gpu-17";
  first.service = "store";
  first.start_error = "its port was closed";
  first.exit_code = 71;
  outcome.end.first_failure = first;

  EXPECT_EQ(texts_of(outcome)[0], "service 'store' failed first: node 1 (gpu-17), its port was closed");
  const json::value document = to_document(outcome);
  const json::object& told = document.at("first_failure").as_object();
  EXPECT_EQ(told.at("service"), "store");
  EXPECT_EQ(told.at("start_error"), "its port was closed");
  for (const char* const no_worker : {"role", "global_rank", "local_rank", "pid", "exit_code"}) {
    EXPECT_TRUE(told.at(no_worker).is_null()) << no_worker;
  }
}

TEST(DescribeOutcome, BeginsWithItsRemarks) {
  Outcome outcome = success();
  outcome.notices = {"worker_3.out lacks 12 bytes"};

  EXPECT_EQ(texts_of(outcome)[0], "worker_3.out lacks 12 bytes");
  EXPECT_EQ(describe_outcome(outcome)[0].level, Level::Warning);
}

TEST(Hints, KnowWhatEndsAWorkerFromOutside) {
  EXPECT_EQ(hints(success()), Lines{});
  EXPECT_EQ(hints(failure(ExitStatus::exited(1))), Lines{});
  Outcome killed = failure(ExitStatus::signalled(SIGKILL));
  killed.end.first_failure->hints = {"what its node knows"};
  EXPECT_EQ(hints(killed), Lines{"what its node knows"});
}

TEST(Hints, SayWhenTheStoreWentWithRankZero) {
  Outcome outcome = failure(ExitStatus::exited(1));
  outcome.end.rank_zero_had_ended = true;
  EXPECT_EQ(hints(outcome), Lines{}) << "of a mode without a store";

  outcome.rank_zero_hosts_store = true;
  EXPECT_EQ(hints(outcome).size(), 1U) << "what the rank wrote is not known";
  outcome.end.first_failure->last_lines = {"ERROR: no such table"};
  EXPECT_EQ(hints(outcome), Lines{}) << "of a program that is no PyTorch";

  for (const std::string line : {"torch.distributed.DistNetworkError: recv failed", "what(): c10::DistBackendError",
                                 "DistStoreError: Broken pipe", "[E ProcessGroupNCCL.cpp:1] watchdog"}) {
    outcome.end.first_failure->last_lines = {"step 7", line};
    ASSERT_EQ(hints(outcome).size(), 1U) << line;
    EXPECT_NE(hints(outcome)[0].find("rank 0 had ended"), std::string::npos);
  }
}

TEST(Hints, NameWhoHadLeftBeforeTheVictim) {
  Outcome outcome = failure(ExitStatus::exited(1));
  outcome.end.left_early = EarlyLeaver{{1}, "host-b", {3}, 2.5};
  EXPECT_EQ(hints(outcome),
            Lines{"rank 3, node 1 (host-b), had ended with exit code 0 after 2.50 s, of its own accord: the others "
                  "then find its connections closed"});

  outcome.end.rank_zero_had_ended = true;
  outcome.rank_zero_hosts_store = true;
  outcome.end.first_failure->last_lines = {"ERROR: no such table"};
  EXPECT_EQ(hints(outcome)[0].find("rank 3,"), 0U) << "without PyTorch there is no store";
  outcome.end.first_failure->last_lines = {"RuntimeError: torch"};
  ASSERT_EQ(hints(outcome).size(), 1U);
  EXPECT_EQ(hints(outcome)[0].find("rank 0 had ended"), 0U) << "the store says more";
}

// For programs

std::vector<std::string> keys(const json::value& value) {
  std::vector<std::string> names;
  for (const auto& member : value.as_object()) {
    names.emplace_back(member.key());
  }
  return names;
}

TEST(ReportDocument, HasTheFieldsOfTheDesign) {
  const json::value document = to_document(failure(ExitStatus::signalled(SIGABRT)));

  for (const char* const field : {"verdict", "exit_code", "attempt", "reason", "first_failure", "workers"}) {
    EXPECT_TRUE(document.as_object().contains(field)) << field;
  }
  for (const char* const field : {"node", "host", "role", "global_rank", "local_rank", "pid", "exit_code", "signal",
                                  "run_time_s", "stderr_tail", "hints"}) {
    EXPECT_TRUE(document.at("first_failure").as_object().contains(field)) << field;
  }
  for (const char* const field : {"global_rank", "outcome", "signal"}) {
    EXPECT_TRUE(document.at("workers").at(0).as_object().contains(field)) << field;
  }
}

TEST(ReportDocument, OfASuccessHasNoFailure) {
  const json::value document = to_document(success());

  EXPECT_EQ(document.at("verdict"), "succeeded");
  EXPECT_EQ(document.at("exit_code"), 0);
  EXPECT_EQ(document.at("reason"), "all workers succeeded");
  EXPECT_EQ(document.at("first_failure"), nullptr);
  EXPECT_EQ(document.at("workers").as_array().size(), kWorkers);
  EXPECT_EQ(document.at("workers").at(0).at("outcome"), "succeeded");
  EXPECT_EQ(document.at("workers").at(0).at("exit_code"), 0);
  EXPECT_EQ(document.at("workers").at(0).at("signal"), nullptr);
}

TEST(ReportDocument, HasWhatWasSeenOfAHang) {
  Outcome outcome = failure(ExitStatus::signalled(SIGABRT));
  EXPECT_EQ(to_document(outcome).at("hang"), nullptr);

  outcome.hang = R"({"why":"the job has not moved for 60 s","stacks":[]})";
  EXPECT_EQ(to_document(outcome).at("hang").at("why"), "the job has not moved for 60 s");
}

TEST(ReportDocument, OfAFailureNamesIt) {
  Outcome outcome = failure(ExitStatus::signalled(SIGABRT));
  outcome.end.first_failure->last_lines = {"a", "b"};
  const json::value document = to_document(outcome);

  EXPECT_EQ(document.at("verdict"), "failed");
  EXPECT_EQ(document.at("exit_code"), 134);
  EXPECT_EQ(document.at("reason"), "worker failed");
  const json::value& first = document.at("first_failure");
  EXPECT_EQ(first.at("node"), 1);
  EXPECT_EQ(first.at("host"), "gpu-17");
  EXPECT_EQ(first.at("global_rank"), 10);
  EXPECT_EQ(first.at("local_rank"), 2);
  EXPECT_EQ(first.at("pid"), 4'702);
  EXPECT_EQ(first.at("exit_code"), nullptr);
  EXPECT_EQ(first.at("signal"), "SIGABRT");
  EXPECT_EQ(first.at("run_time_s"), 1.254);
  EXPECT_EQ(first.at("stderr_tail"), (json::value{"a", "b"}));
  EXPECT_EQ(document.at("workers").at(0).at("outcome"), "stopped");
  EXPECT_EQ(document.at("workers").at(0).at("signal"), "SIGTERM");
  EXPECT_EQ(document.at("workers").at(2).at("outcome"), "failed");
}

TEST(ReportDocument, HasTheResultsOfAllNodes) {
  Outcome outcome = success();
  EXPECT_EQ(to_document(outcome).at("gang"), nullptr) << "one node is no gang";
  EXPECT_EQ(to_document(outcome).at("past_attempts"), json::array());

  outcome.nodes = 2;
  outcome.end.gang = {
      2, 1.5, {{NodeRank{1}, "gpu-18", 1.5}}, {{0, "worker failed", false, {"Traceback", "ValueError: NaN"}}}};
  const json::value document = to_document(outcome);
  EXPECT_EQ(document.at("gang").at("nodes"), 2);
  EXPECT_EQ(document.at("gang").at("arrival_skew_s"), 1.5);
  EXPECT_EQ(document.at("gang").at("slowest").at(0).at("host"), "gpu-18");
  EXPECT_EQ(document.at("past_attempts").at(0).at("reason"), "worker failed");
  EXPECT_EQ(document.at("past_attempts").at(0).at("stderr_tail"), json::array({"Traceback", "ValueError: NaN"}));
}

TEST(ReportDocument, KnowsEveryVerdict) {
  for (const auto& [verdict, name] : std::vector<std::pair<Verdict, std::string>>{{Verdict::Succeeded, "succeeded"},
                                                                                  {Verdict::Failed, "failed"},
                                                                                  {Verdict::Stopped, "stopped"},
                                                                                  {Verdict::Incomplete, "incomplete"},
                                                                                  {Verdict::Lost, "lost"},
                                                                                  {Verdict::Hung, "hung"}}) {
    Outcome outcome = success();
    outcome.end.verdict = verdict;
    EXPECT_EQ(to_document(outcome).at("verdict"), json::value(name));
  }
}

TEST(ReportDocument, OfAStopNamesTheSignal) {
  const json::value document = to_document(stop());

  EXPECT_EQ(document.at("verdict"), "stopped");
  EXPECT_EQ(document.at("exit_code"), 143);
  EXPECT_EQ(document.at("reason"), "stopped by SIGTERM");
  EXPECT_EQ(document.at("first_failure"), nullptr);
}

TEST(ReportDocument, KnowsEveryOutcomeOfAWorker) {
  for (const auto& [outcome, name] :
       std::vector<std::pair<WorkerOutcome, std::string>>{{WorkerOutcome::Succeeded, "succeeded"},
                                                          {WorkerOutcome::Failed, "failed"},
                                                          {WorkerOutcome::Stopped, "stopped"},
                                                          {WorkerOutcome::NeverStarted, "never started"},
                                                          {WorkerOutcome::Running, "running"}}) {
    Outcome job = success();
    job.workers[0].outcome = outcome;
    EXPECT_EQ(to_document(job).at("workers").at(0).at("outcome"), json::value(name));
  }
}

TEST(ReportDocument, HasTheSameFieldsInEveryCase) {
  EXPECT_EQ(keys(to_document(success())), keys(to_document(failure(ExitStatus::exited(1)))));
  EXPECT_EQ(keys(to_document(success())), keys(to_document(stop())));
}

// The file

/// A folder that is gone at the end of the test.
class Folder {
 public:
  Folder() : path_(testing::TempDir() + "report_test." + std::to_string(::getpid())) {
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string file(const std::string& name) const { return path_ + "/" + name; }

  std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) {
      ++count;
    }
    return count;
  }

 private:
  std::string path_;
};

json::value read_json(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return json::parse(text.str());
}

TEST(WriteReport, WritesTheDocument) {
  const Folder folder;
  const std::string path = folder.file("report.json");

  ASSERT_TRUE(write_report(success(), path));
  EXPECT_EQ(read_json(path), to_document(success()));
}

TEST(WriteReport, ReplacesAnOldOneAndLeavesNothingBeside) {
  const Folder folder;
  const std::string path = folder.file("report.json");
  ASSERT_TRUE(write_report(success(), path));

  ASSERT_TRUE(write_report(stop(), path));
  EXPECT_EQ(read_json(path).at("verdict"), "stopped");
  EXPECT_EQ(folder.files(), 1U);
}

TEST(WriteReport, ReportsWhyItFails) {
  const Folder folder;
  for (const auto& [path, why] :
       std::map<std::string, std::string>{{folder.file("missing/report.json"), "No such file or directory"},
                                          {folder.file(""), "directory"},
                                          {"", "No such file or directory"}}) {
    const auto written = write_report(success(), path);
    ASSERT_FALSE(written) << path;
    EXPECT_EQ(written.error().kind, ErrorKind::System);
    EXPECT_TRUE(written.error().message.starts_with("cannot write the report '" + path + "': "));
  }
  EXPECT_EQ(folder.files(), 0U);
}

}  // namespace
}  // namespace muster
