// Every arrow of the picture in supervisor.hpp, as one small scenario each.
#include "supervise/actions.hpp"

namespace muster {
namespace {

constexpr const char* kAskedToStop = "cancel start, send stop signal SIGTERM, start grace";
constexpr const char* kKilled = "cancel start, kill everything";

TEST(Supervisor, StartsItsWorkers) {
  Supervisor supervisor({true, true});

  EXPECT_FALSE(supervisor.has_living_workers());
  EXPECT_EQ(to_text(supervisor.start()), "start workers");
  EXPECT_TRUE(supervisor.has_living_workers());
  EXPECT_TRUE(supervisor.is_running_normally());
  EXPECT_EQ(supervisor.outcome(1), WorkerOutcome::Running);
  EXPECT_EQ(supervisor.status(1), std::nullopt);
}

// Running -> Sweeping -> Finished

TEST(Supervisor, SweepsWhenAllHaveSucceededAndFinishesWhenNothingIsLeft) {
  Supervisor supervisor = running(2);

  EXPECT_EQ(to_text(supervisor.on(succeeded(1))), "");
  EXPECT_EQ(to_text(supervisor.on(succeeded(0))), "stop orphans, start grace");
  EXPECT_TRUE(supervisor.is_running_normally());
  EXPECT_EQ(to_text(supervisor.on(NothingLeft{})), "finish");

  EXPECT_TRUE(supervisor.is_finished());
  EXPECT_EQ(supervisor.conclusion().verdict, Verdict::Succeeded);
  EXPECT_EQ(supervisor.conclusion().exit_code, 0);
  EXPECT_EQ(supervisor.conclusion().first_failure, std::nullopt);
  EXPECT_EQ(supervisor.outcome(0), WorkerOutcome::Succeeded);
  EXPECT_EQ(supervisor.status(0), ExitStatus::exited(0));
}

TEST(Supervisor, DoesNotFinishWhileAWorkerLives) {
  Supervisor supervisor = running(2);
  (void)supervisor.on(succeeded(0));

  EXPECT_EQ(to_text(supervisor.on(NothingLeft{})), "");
  EXPECT_FALSE(supervisor.is_finished());
}

// Running -> Stopping, by a failure

TEST(Supervisor, SendsSigtermToTheOthersWhenAWorkerFails) {
  Supervisor supervisor = running(3);

  EXPECT_EQ(to_text(supervisor.on(failed(1, 3))), kAskedToStop);
  EXPECT_FALSE(supervisor.is_running_normally());
}

TEST(Supervisor, ReportsTheFirstFailureAndNotItsEcho) {
  Supervisor supervisor = running(3);
  (void)supervisor.on(killed(2, SIGSEGV));

  EXPECT_EQ(to_text(supervisor.on(failed(0, 1))), "");
  EXPECT_EQ(to_text(supervisor.on(killed(1, SIGTERM))), "stop orphans");
  EXPECT_EQ(to_text(supervisor.on(NothingLeft{})), "finish");

  const AttemptOutcome conclusion = supervisor.conclusion();
  EXPECT_EQ(conclusion.verdict, Verdict::Failed);
  EXPECT_EQ(conclusion.exit_code, 128 + SIGSEGV);
  EXPECT_EQ(conclusion.first_failure, 2U);
  EXPECT_EQ(supervisor.outcome(2), WorkerOutcome::Failed);
  EXPECT_EQ(supervisor.outcome(0), WorkerOutcome::Stopped);
  EXPECT_EQ(supervisor.outcome(1), WorkerOutcome::Stopped);
  EXPECT_EQ(supervisor.status(0), ExitStatus::exited(1));
}

TEST(Supervisor, EndsTheWorkersWhenOneThatEndedWithSuccessHasAFault) {
  Supervisor supervisor = running(2);

  EXPECT_EQ(to_text(supervisor.on(WorkerEnded{1, ExitStatus::exited(0), true, true})), kAskedToStop);

  EXPECT_EQ(supervisor.outcome(1), WorkerOutcome::Failed);
  EXPECT_EQ(supervisor.conclusion().verdict, Verdict::Failed);
  EXPECT_EQ(supervisor.conclusion().exit_code, 1);
  EXPECT_EQ(supervisor.conclusion().first_failure, 1U);
}

TEST(Supervisor, EndsTheWorkersWhenAServiceFails) {
  Supervisor supervisor = running(2);

  const auto actions = supervisor.on(ServiceFailed{71});
  EXPECT_EQ(told(actions), "failure of a service");
  EXPECT_EQ(to_text(actions), "cancel start, send stop signal SIGTERM, start grace");
  EXPECT_EQ(told(supervisor.on(failed(0, 1))), "") << "an echo";
  (void)supervisor.on(killed(1, SIGTERM));
  (void)supervisor.on(NothingLeft{});

  const AttemptOutcome conclusion = supervisor.conclusion();
  EXPECT_EQ(conclusion.verdict, Verdict::Failed);
  EXPECT_EQ(conclusion.exit_code, 71);
  EXPECT_EQ(conclusion.first_failure, std::nullopt) << "no worker";
}

TEST(Supervisor, EndsTheOtherWorkersWhenOneHangs) {
  Supervisor supervisor = running(2);

  EXPECT_EQ(to_text(supervisor.on(WorkerHung{1, 86})), kAskedToStop);
  EXPECT_TRUE(supervisor.on(WorkerHung{0, 86}).empty()) << "the first one is named";
  (void)supervisor.on(killed(1, SIGABRT));

  EXPECT_EQ(supervisor.outcome(1), WorkerOutcome::Failed);
  EXPECT_EQ(supervisor.conclusion().exit_code, 86);
  EXPECT_EQ(supervisor.conclusion().first_failure, 1U);
}

TEST(Supervisor, NeedsNoServiceAnyMoreAfterAFailureOrTheEnd) {
  Supervisor stopping = running(1);
  (void)stopping.on(StopRequested{SIGTERM});
  EXPECT_TRUE(stopping.on(ServiceFailed{71}).empty());
  EXPECT_EQ(stopping.conclusion().verdict, Verdict::Stopped);

  Supervisor sweeping = running(1);
  (void)sweeping.on(succeeded(0));
  EXPECT_TRUE(sweeping.on(ServiceFailed{71}).empty());
  EXPECT_EQ(sweeping.conclusion().verdict, Verdict::Succeeded);
}

TEST(Supervisor, PassesEveryExitCodeThrough) {
  for (int code = 1; code < 256; ++code) {
    Supervisor supervisor = running(2);
    (void)supervisor.on(failed(1, code));
    (void)supervisor.on(killed(0, SIGTERM));
    (void)supervisor.on(NothingLeft{});

    EXPECT_EQ(supervisor.conclusion().exit_code, code);
    EXPECT_EQ(supervisor.conclusion().verdict, Verdict::Failed);
  }
}

TEST(Supervisor, PassesEverySignalThrough) {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    Supervisor supervisor = running(2);
    (void)supervisor.on(killed(0, signal));

    EXPECT_EQ(supervisor.conclusion().exit_code, 128 + signal);
  }
}

TEST(Supervisor, FailsWhenTheLastWorkerFails) {
  Supervisor supervisor = running(2);
  (void)supervisor.on(succeeded(0));

  EXPECT_EQ(to_text(supervisor.on(failed(1, 9))), std::string(kAskedToStop) + ", stop orphans");
  EXPECT_EQ(to_text(supervisor.on(NothingLeft{})), "finish");
  EXPECT_EQ(supervisor.conclusion().exit_code, 9);
  EXPECT_EQ(supervisor.outcome(0), WorkerOutcome::Succeeded);
}

TEST(Supervisor, CallsAWorkerStoppedThatAnswersTheRequestWithSuccess) {
  Supervisor supervisor = running(2);
  (void)supervisor.on(failed(0, 1));
  (void)supervisor.on(succeeded(1));

  EXPECT_EQ(supervisor.outcome(1), WorkerOutcome::Stopped);
  EXPECT_EQ(supervisor.conclusion().exit_code, 1);
}

// Running -> Stopping, by a request

TEST(Supervisor, PassesAStopOnAsTheSignalThatItWas) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    Supervisor supervisor = running(2);

    EXPECT_EQ(to_text(supervisor.on(StopRequested{signal})),
              "cancel start, send stop signal " + signal_name(signal) + ", start grace");
    (void)supervisor.on(succeeded(0));
    EXPECT_EQ(to_text(supervisor.on(succeeded(1))), "stop orphans");
    EXPECT_EQ(to_text(supervisor.on(NothingLeft{})), "finish");

    EXPECT_EQ(supervisor.conclusion().verdict, Verdict::Stopped);
    EXPECT_EQ(supervisor.conclusion().stop_signal, signal);
    EXPECT_EQ(supervisor.conclusion().exit_code, 128 + signal);
  }
}

TEST(Supervisor, IsStoppedWhateverTheWorkersAnswer) {
  Supervisor supervisor = running(3);
  (void)supervisor.on(StopRequested{SIGTERM});
  (void)supervisor.on(failed(0, 7));
  (void)supervisor.on(killed(1, SIGSEGV));
  (void)supervisor.on(succeeded(2));

  EXPECT_EQ(supervisor.conclusion().exit_code, 128 + SIGTERM);
  EXPECT_EQ(supervisor.conclusion().first_failure, std::nullopt);
  EXPECT_EQ(supervisor.outcome(0), WorkerOutcome::Stopped);
  EXPECT_EQ(supervisor.outcome(1), WorkerOutcome::Failed) << "TERM ends nobody by SIGSEGV";
  EXPECT_EQ(supervisor.outcome(2), WorkerOutcome::Stopped);
}

TEST(Supervisor, IsStoppedWhenOnlySomeHadSucceeded) {
  Supervisor supervisor = running(2);
  (void)supervisor.on(succeeded(0));
  (void)supervisor.on(StopRequested{SIGTERM});

  EXPECT_EQ(supervisor.conclusion().verdict, Verdict::Stopped);
  EXPECT_EQ(supervisor.outcome(0), WorkerOutcome::Succeeded);
}

TEST(Supervisor, SucceedsWhenTheStopComesAfterTheLastSuccess) {
  Supervisor supervisor = running(2);
  (void)supervisor.on(succeeded(0));
  (void)supervisor.on(succeeded(1));

  EXPECT_EQ(to_text(supervisor.on(StopRequested{SIGTERM})), "") << "orphans were asked already";
  EXPECT_EQ(to_text(supervisor.on(NothingLeft{})), "finish");
  EXPECT_EQ(supervisor.conclusion().verdict, Verdict::Succeeded);
  EXPECT_EQ(supervisor.conclusion().exit_code, 0);
  EXPECT_EQ(supervisor.conclusion().stop_signal, std::nullopt);
}

TEST(Supervisor, KeepsTheFailureWhenAStopComesAfterIt) {
  Supervisor supervisor = running(2);
  (void)supervisor.on(failed(0, 5));

  EXPECT_EQ(to_text(supervisor.on(StopRequested{SIGTERM})), "tell grace at the first SIGTERM")
      << "one grace on every path";
  EXPECT_EQ(supervisor.conclusion().verdict, Verdict::Failed);
  EXPECT_EQ(supervisor.conclusion().exit_code, 5);
}

// Stopping, Sweeping -> Killing

TEST(Supervisor, KillsAtAnotherRequestFromAKeyboard) {
  for (const int first : {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1}) {
    for (const int second : {SIGINT, SIGQUIT}) {
      Supervisor supervisor = running(2);
      (void)supervisor.on(StopRequested{first});

      EXPECT_EQ(to_text(supervisor.on(StopRequested{second})), kKilled);
      EXPECT_EQ(supervisor.conclusion().exit_code, 128 + first) << "the first request counts";
    }
  }
}

TEST(Supervisor, KeepsTheGraceAtAnyOtherRepeatedRequest) {
  for (const int first : {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1}) {
    for (const int second : {SIGTERM, SIGHUP, SIGUSR1}) {
      Supervisor supervisor = running(2);
      (void)supervisor.on(StopRequested{first});

      EXPECT_EQ(to_text(supervisor.on(StopRequested{second})), "tell grace at " + signal_name(second));
      EXPECT_EQ(to_text(supervisor.on(GraceEnded{})), kKilled);
      EXPECT_EQ(supervisor.conclusion().exit_code, 128 + first);
    }
  }
}

TEST(Supervisor, KillsAtTheSecondRequestAfterAFailureToo) {
  Supervisor supervisor = running(2);
  (void)supervisor.on(failed(0, 5));
  (void)supervisor.on(StopRequested{SIGINT});

  EXPECT_EQ(to_text(supervisor.on(StopRequested{SIGINT})), kKilled);
  EXPECT_EQ(supervisor.conclusion().exit_code, 5);
}

TEST(Supervisor, KillsLeftoversAtTheSecondRequest) {
  Supervisor supervisor = running(1);
  (void)supervisor.on(succeeded(0));
  (void)supervisor.on(StopRequested{SIGINT});

  EXPECT_EQ(to_text(supervisor.on(StopRequested{SIGINT})), kKilled);
  EXPECT_EQ(to_text(supervisor.on(NothingLeft{})), "finish");
  EXPECT_EQ(supervisor.conclusion().exit_code, 0);
}

TEST(Supervisor, KillsOnceDespiteRepeatedSignals) {
  Supervisor supervisor = running(2);
  (void)supervisor.on(StopRequested{SIGTERM});
  (void)supervisor.on(StopRequested{SIGINT});

  EXPECT_EQ(to_text(supervisor.on(StopRequested{SIGINT})), "");
  EXPECT_EQ(to_text(supervisor.on(StopRequested{SIGTERM})), "");
  EXPECT_EQ(to_text(supervisor.on(GraceEnded{})), "");
  EXPECT_EQ(to_text(supervisor.on(GuardLost{})), "");
}

TEST(Supervisor, KillsWhenTheGraceOfAFailureIsOver) {
  Supervisor supervisor = running(2);
  (void)supervisor.on(failed(0, 5));

  EXPECT_EQ(to_text(supervisor.on(GraceEnded{})), kKilled);
  EXPECT_EQ(to_text(supervisor.on(killed(1, SIGKILL))), "");
  EXPECT_EQ(to_text(supervisor.on(NothingLeft{})), "finish");
  EXPECT_EQ(supervisor.conclusion().exit_code, 5);
  EXPECT_EQ(supervisor.outcome(1), WorkerOutcome::Stopped);
}

TEST(Supervisor, KillsWhenTheGraceOfAStopIsOver) {
  Supervisor supervisor = running(2);
  (void)supervisor.on(StopRequested{SIGTERM});

  EXPECT_EQ(to_text(supervisor.on(GraceEnded{})), kKilled);
  (void)supervisor.on(killed(0, SIGKILL));
  (void)supervisor.on(killed(1, SIGKILL));
  EXPECT_EQ(to_text(supervisor.on(NothingLeft{})), "finish");
  EXPECT_EQ(supervisor.conclusion().exit_code, 128 + SIGTERM);
}

TEST(Supervisor, KillsLeftoversThatOutliveTheGraceAndStillSucceeds) {
  Supervisor supervisor = running(1);
  (void)supervisor.on(succeeded(0));

  EXPECT_EQ(to_text(supervisor.on(GraceEnded{})), kKilled);
  EXPECT_EQ(to_text(supervisor.on(NothingLeft{})), "finish");
  EXPECT_EQ(supervisor.conclusion().verdict, Verdict::Succeeded);
  EXPECT_EQ(supervisor.conclusion().exit_code, 0);
}

TEST(Supervisor, TakesNoSecondGraceForTheLeftoversOfStoppedWorkers) {
  Supervisor supervisor = running(1);
  (void)supervisor.on(StopRequested{SIGTERM});

  EXPECT_EQ(to_text(supervisor.on(succeeded(0))), "stop orphans");
  EXPECT_EQ(to_text(supervisor.on(GraceEnded{})), kKilled);
}

TEST(Supervisor, IgnoresAGraceThatWasNotStarted) {
  Supervisor supervisor = running(1);

  EXPECT_EQ(to_text(supervisor.on(GraceEnded{})), "");
  EXPECT_TRUE(supervisor.is_running_normally());
}

// The other half of muster

TEST(Supervisor, KillsAtOnceWhenItsPartnerIsLost) {
  Supervisor supervisor = running(2);

  EXPECT_EQ(to_text(supervisor.on(GuardLost{})), kKilled);
  EXPECT_EQ(supervisor.conclusion().verdict, Verdict::Stopped);
  EXPECT_EQ(supervisor.conclusion().exit_code, 128 + SIGKILL);
}

TEST(Supervisor, KeepsWhatWasDecidedBeforeItsPartnerWasLost) {
  Supervisor after_failure = running(2);
  (void)after_failure.on(failed(1, 4));
  EXPECT_EQ(to_text(after_failure.on(GuardLost{})), kKilled);
  EXPECT_EQ(after_failure.conclusion().exit_code, 4);

  Supervisor after_stop = running(2);
  (void)after_stop.on(StopRequested{SIGHUP});
  EXPECT_EQ(to_text(after_stop.on(GuardLost{})), kKilled);
  EXPECT_EQ(after_stop.conclusion().exit_code, 128 + SIGHUP);

  Supervisor after_success = running(1);
  (void)after_success.on(succeeded(0));
  EXPECT_EQ(to_text(after_success.on(GuardLost{})), kKilled);
  EXPECT_EQ(after_success.conclusion().exit_code, 0);
}

// Processes that cannot be killed

TEST(Supervisor, FinishesWithWhatItHasWhenSomethingCannotBeKilled) {
  Supervisor supervisor = running(2);
  (void)supervisor.on(failed(0, 5));
  (void)supervisor.on(GraceEnded{});

  EXPECT_EQ(to_text(supervisor.on(GaveUpWaiting{})), "finish");
  EXPECT_TRUE(supervisor.is_finished());
  EXPECT_TRUE(supervisor.conclusion().gave_up);
  EXPECT_EQ(supervisor.conclusion().exit_code, 5);
  EXPECT_EQ(supervisor.outcome(1), WorkerOutcome::Running);
}

// Workers that never started

TEST(Supervisor, FailsWithTheCodeOfAWorkerThatCouldNotBeStarted) {
  for (const int code : {71, 126, 127}) {
    Supervisor supervisor = running(3);

    EXPECT_EQ(to_text(supervisor.on(WorkerNotStarted{1, code})), kAskedToStop);
    EXPECT_EQ(supervisor.conclusion().exit_code, code);
    EXPECT_EQ(supervisor.conclusion().first_failure, 1U);
    EXPECT_EQ(supervisor.outcome(0), WorkerOutcome::Running);
    EXPECT_EQ(supervisor.outcome(1), WorkerOutcome::NeverStarted);
    EXPECT_EQ(supervisor.outcome(2), WorkerOutcome::NeverStarted);

    EXPECT_EQ(to_text(supervisor.on(killed(0, SIGTERM))), "stop orphans");
    EXPECT_EQ(to_text(supervisor.on(NothingLeft{})), "finish");
  }
}

TEST(Supervisor, FailsWhenNotEvenTheFirstWorkerCouldBeStarted) {
  Supervisor supervisor = running(2);

  EXPECT_EQ(to_text(supervisor.on(WorkerNotStarted{0, 127})), std::string(kAskedToStop) + ", stop orphans");
  EXPECT_FALSE(supervisor.has_living_workers());
  EXPECT_EQ(to_text(supervisor.on(NothingLeft{})), "finish");
  EXPECT_EQ(supervisor.conclusion().exit_code, 127);
}

TEST(Supervisor, CountsWorkersWhoseStartItsStopPrevented) {
  Supervisor supervisor = running(3);
  (void)supervisor.on(failed(0, 2));

  EXPECT_EQ(to_text(supervisor.on(WorkerNotStarted{1, 0})), "stop orphans");
  EXPECT_EQ(supervisor.conclusion().first_failure, 0U);
  EXPECT_EQ(supervisor.conclusion().exit_code, 2);
  EXPECT_EQ(supervisor.outcome(1), WorkerOutcome::NeverStarted);
  EXPECT_EQ(supervisor.outcome(2), WorkerOutcome::NeverStarted);
}

TEST(Supervisor, WaitsForThoseThatWereStartedBeforeTheStop) {
  Supervisor supervisor = running(3);
  (void)supervisor.on(StopRequested{SIGTERM});

  EXPECT_EQ(to_text(supervisor.on(WorkerNotStarted{2, 0})), "");
  EXPECT_EQ(to_text(supervisor.on(killed(1, SIGTERM))), "");
  EXPECT_EQ(to_text(supervisor.on(killed(0, SIGTERM))), "stop orphans");
  EXPECT_EQ(supervisor.conclusion().verdict, Verdict::Stopped);
}

TEST(Supervisor, CountsPreventedWorkersWhileKilling) {
  Supervisor supervisor = running(2);
  (void)supervisor.on(GuardLost{});

  EXPECT_EQ(to_text(supervisor.on(WorkerNotStarted{0, 0})), "");
  EXPECT_EQ(to_text(supervisor.on(NothingLeft{})), "finish");
}

// Failures that are found together

TEST(Supervisor, DoesNotSayThatItStoppedAWorkerThatHadFailedBefore) {
  Supervisor supervisor = running(3);
  (void)supervisor.on(WorkerEnded{1, ExitStatus::exited(3), true});
  (void)supervisor.on(WorkerEnded{0, ExitStatus::exited(4), true});
  (void)supervisor.on(WorkerEnded{2, ExitStatus::signalled(SIGTERM), false});

  EXPECT_EQ(supervisor.conclusion().first_failure, 1U);
  EXPECT_EQ(supervisor.conclusion().exit_code, 3);
  EXPECT_EQ(supervisor.outcome(0), WorkerOutcome::Failed);
  EXPECT_EQ(supervisor.outcome(2), WorkerOutcome::Stopped);
}

TEST(Supervisor, CallsAWorkerFailedThatEndsByAnotherSignalThanWasSent) {
  Supervisor supervisor = running(4);
  (void)supervisor.on(StopRequested{SIGTERM});
  (void)supervisor.on(killed(0, SIGTERM));
  (void)supervisor.on(killed(1, SIGSEGV));
  (void)supervisor.on(failed(2, 143));
  (void)supervisor.on(GraceEnded{});
  (void)supervisor.on(killed(3, SIGKILL));

  EXPECT_EQ(supervisor.outcome(0), WorkerOutcome::Stopped);
  EXPECT_EQ(supervisor.outcome(1), WorkerOutcome::Failed);
  EXPECT_EQ(supervisor.outcome(2), WorkerOutcome::Stopped) << "its answer";
  EXPECT_EQ(supervisor.outcome(3), WorkerOutcome::Stopped) << "we killed it";
  EXPECT_EQ(supervisor.conclusion().verdict, Verdict::Stopped);
  EXPECT_EQ(supervisor.conclusion().first_failure, std::nullopt);
}

TEST(Supervisor, CountsAWorkerKilledFromOutsideDuringTheGraceAsFailed) {
  Supervisor supervisor = running(2);
  (void)supervisor.on(StopRequested{SIGTERM});
  (void)supervisor.on(killed(0, SIGKILL));

  EXPECT_EQ(supervisor.outcome(0), WorkerOutcome::Failed);
}

TEST(Supervisor, ListsThoseThatFailedAsTheyEnded) {
  Supervisor supervisor = running(4);
  (void)supervisor.on(WorkerEnded{2, ExitStatus::exited(3), true});
  (void)supervisor.on(WorkerEnded{0, ExitStatus::exited(4), true});
  (void)supervisor.on(WorkerEnded{3, ExitStatus::exited(0), true});
  (void)supervisor.on(killed(1, SIGABRT));

  ASSERT_EQ(supervisor.failed().size(), 3U);
  EXPECT_EQ(supervisor.failed()[0].worker, 2U);
  EXPECT_EQ(supervisor.failed()[1].worker, 0U);
  EXPECT_TRUE(supervisor.failed()[1].exited_before_stop);
  EXPECT_EQ(supervisor.failed()[2].worker, 1U);
  EXPECT_FALSE(supervisor.failed()[2].exited_before_stop);
  EXPECT_EQ(supervisor.outcome(3), WorkerOutcome::Succeeded) << "nobody had asked it";
}

TEST(Supervisor, KnowsNoOrderOfAWorkerThatExitedDuringAnothersCrash) {
  Supervisor supervisor = running(2);
  (void)supervisor.on(WorkerEnded{1, ExitStatus::signalled(SIGSEGV), true});
  (void)supervisor.on(WorkerEnded{0, ExitStatus::exited(3), true});

  EXPECT_EQ(supervisor.outcome(0), WorkerOutcome::Failed);
  ASSERT_EQ(supervisor.failed().size(), 2U);
  EXPECT_TRUE(supervisor.failed()[1].exited_before_stop) << "whenever it was found";
}

// Roles that do not decide

TEST(Supervisor, EndsTheOthersWhenTheJobHasSucceeded) {
  Supervisor supervisor = running({true, true, false, false});

  EXPECT_EQ(told(supervisor.on(succeeded(0))), "success of 0");
  EXPECT_EQ(told(supervisor.on(succeeded(1))), "success of 1, the last");
  EXPECT_TRUE(supervisor.is_running_normally()) << "workers of other nodes may need the rest";
  EXPECT_EQ(to_text(supervisor.on(StopOrdered{SIGTERM})), kAskedToStop);
  EXPECT_EQ(to_text(supervisor.on(killed(2, SIGTERM))), "");
  EXPECT_EQ(to_text(supervisor.on(failed(3, 1))), "stop orphans");
  EXPECT_EQ(to_text(supervisor.on(NothingLeft{})), "finish");

  EXPECT_EQ(supervisor.conclusion().verdict, Verdict::Succeeded);
  EXPECT_EQ(supervisor.conclusion().exit_code, 0);
  EXPECT_EQ(supervisor.outcome(3), WorkerOutcome::Stopped);
}

TEST(Supervisor, ContinuesWhenANonDecidingWorkerSucceeds) {
  Supervisor supervisor = running({true, false});

  const auto actions = supervisor.on(succeeded(1));
  EXPECT_EQ(to_text(actions), "");
  EXPECT_EQ(told(actions), "");
  EXPECT_TRUE(supervisor.is_running_normally());
  EXPECT_EQ(to_text(supervisor.on(succeeded(0))), "stop orphans, start grace");
}

TEST(Supervisor, FailsWhenAWorkerThatDoesNotDecideFails) {
  Supervisor supervisor = running({true, false});

  EXPECT_EQ(to_text(supervisor.on(killed(1, SIGSEGV))), kAskedToStop);
  EXPECT_EQ(supervisor.conclusion().exit_code, 128 + SIGSEGV);
}

TEST(Supervisor, SucceedsWhenTheStopComesWhileOnlyOthersAreLeft) {
  Supervisor supervisor = running({true, false});
  (void)supervisor.on(succeeded(0));

  EXPECT_EQ(to_text(supervisor.on(StopRequested{SIGTERM})), kAskedToStop);
  (void)supervisor.on(killed(1, SIGTERM));
  EXPECT_EQ(supervisor.conclusion().exit_code, 0);
}

TEST(Supervisor, ReportsAtTheStartThatNoWorkerOfThisNodeDecides) {
  Supervisor supervisor({false, false});

  EXPECT_EQ(told(supervisor.start()), "nobody decides, the last");
  EXPECT_EQ(to_text(supervisor.on(succeeded(0))), "") << "its neighbour is not ended for that";
  EXPECT_EQ(to_text(supervisor.on(StopOrdered{SIGTERM})), kAskedToStop);
}

// Orders

TEST(Supervisor, ReportsAWorkerFailureOnce) {
  Supervisor supervisor = running(3);

  EXPECT_EQ(told(supervisor.on(failed(1, 3))), "failure of 1");
  EXPECT_EQ(told(supervisor.on(failed(0, 4))), "") << "an echo";
}

TEST(Supervisor, SendsTheOrderedSignalToTheWorkers) {
  Supervisor supervisor = running(2);

  EXPECT_EQ(to_text(supervisor.on(StopOrdered{SIGINT})), "cancel start, send stop signal SIGINT, start grace");
  EXPECT_FALSE(supervisor.is_running_normally());
  (void)supervisor.on(killed(0, SIGINT));
  EXPECT_EQ(supervisor.outcome(0), WorkerOutcome::Stopped) << "no failure of its own";
  EXPECT_EQ(supervisor.conclusion().first_failure, std::nullopt);
}

TEST(Supervisor, TakesAnOrderOnlyWhileItsWorkersRun) {
  Supervisor supervisor = running(2);
  (void)supervisor.on(failed(0, 3));

  EXPECT_EQ(to_text(supervisor.on(StopOrdered{SIGTERM})), "") << "they have been asked already";
  EXPECT_EQ(to_text(supervisor.on(StopRequested{SIGTERM})), "tell grace at the first SIGTERM");
  EXPECT_EQ(to_text(supervisor.on(StopRequested{SIGINT})), kKilled);
  EXPECT_EQ(to_text(supervisor.on(StopOrdered{SIGTERM})), "");
}

TEST(Supervisor, FinishesOnANodeThatHasNoWorkers) {
  Supervisor supervisor({});

  EXPECT_EQ(to_text(supervisor.start()), "start workers, stop orphans, start grace");
  EXPECT_EQ(to_text(supervisor.on(NothingLeft{})), "finish");
  EXPECT_EQ(supervisor.conclusion().verdict, Verdict::Succeeded);
}

// Finished

TEST(Supervisor, DoesNothingMoreOnceItHasFinished) {
  Supervisor supervisor = running(1);
  (void)supervisor.on(succeeded(0));
  (void)supervisor.on(NothingLeft{});

  for (const Event& event : std::vector<Event>{StopRequested{SIGTERM}, GraceEnded{}, GuardLost{}, NothingLeft{},
                                               GaveUpWaiting{}, StopOrdered{}, failed(0, 1), WorkerNotStarted{0, 71}}) {
    EXPECT_EQ(to_text(supervisor.on(event)), "");
  }
  EXPECT_TRUE(supervisor.is_finished());
  EXPECT_EQ(supervisor.conclusion().exit_code, 0);
  EXPECT_FALSE(supervisor.conclusion().gave_up);
}

}  // namespace
}  // namespace muster
