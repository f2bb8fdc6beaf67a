// Workers that end after a notice: whoever ends ends no other one.
#include "supervise/actions.hpp"

namespace muster {
namespace {

Supervisor noticed(std::size_t workers, std::optional<int> signal = std::nullopt) {
  Supervisor supervisor = running(workers);
  EXPECT_EQ(to_text(supervisor.on(NoticeGiven{signal})), "");
  return supervisor;
}

TEST(SupervisorAfterANotice, LetsOthersSaveWhenOneFails) {
  Supervisor supervisor = noticed(2);

  const auto actions = supervisor.on(failed(1, 3));
  EXPECT_EQ(to_text(actions), "");
  EXPECT_EQ(told(actions), "") << "whether it is a failure is decided when all have ended";
  EXPECT_EQ(told(supervisor.on(succeeded(0))), "success of 0");
  (void)supervisor.on(NothingLeft{});
  EXPECT_TRUE(supervisor.is_finished());
  EXPECT_EQ(supervisor.conclusion().first_failure, 1U) << "who judges knows of it";
}

TEST(SupervisorAfterANotice, TakesAnExitForAnAnswerToANoticeBySignal) {
  Supervisor supervisor = noticed(2, SIGTERM);

  (void)supervisor.on(killed(0, SIGTERM));
  (void)supervisor.on(WorkerEnded{1, ExitStatus::exited(143), false, false});
  EXPECT_EQ(supervisor.outcome(0), WorkerOutcome::Stopped);
  EXPECT_EQ(supervisor.outcome(1), WorkerOutcome::Stopped);
  EXPECT_TRUE(supervisor.failed().empty());
}

TEST(SupervisorAfterANotice, ReportsWhoEndsWellAfterANoticeBySignal) {
  Supervisor supervisor = noticed(2, SIGUSR1);

  EXPECT_EQ(told(supervisor.on(succeeded(0))), "success of 0");
  EXPECT_EQ(supervisor.outcome(0), WorkerOutcome::Succeeded);
}

TEST(SupervisorAfterANotice, KnowsACrashFromAnAnswer) {
  Supervisor supervisor = noticed(1, SIGUSR1);

  (void)supervisor.on(killed(0, SIGSEGV));
  EXPECT_EQ(supervisor.outcome(0), WorkerOutcome::Failed);
}

TEST(SupervisorAfterANotice, FailsWhatHasFailedOnceItIsWithdrawn) {
  Supervisor supervisor = noticed(2);
  (void)supervisor.on(failed(1, 3));

  const auto actions = supervisor.on(NoticeWithdrawn{});
  EXPECT_EQ(to_text(actions), "cancel start, send stop signal SIGTERM, start grace");
  EXPECT_EQ(told(actions), "failure of 1");
  EXPECT_EQ(supervisor.conclusion().exit_code, 3);
}

TEST(SupervisorAfterANotice, CountsAnExitAsAFailureOnceItIsWithdrawn) {
  Supervisor supervisor = noticed(2, SIGUSR1);
  (void)supervisor.on(WorkerEnded{1, ExitStatus::signalled(SIGUSR1), false, false});

  const auto actions = supervisor.on(NoticeWithdrawn{});
  EXPECT_EQ(told(actions), "failure of 1");
  EXPECT_EQ(supervisor.outcome(1), WorkerOutcome::Failed);
}

TEST(SupervisorAfterANotice, ContinuesNormallyOnceItIsWithdrawn) {
  Supervisor supervisor = noticed(2, SIGTERM);
  EXPECT_EQ(to_text(supervisor.on(NoticeWithdrawn{})), "");

  EXPECT_EQ(told(supervisor.on(failed(0, 7))), "failure of 0");
}

TEST(SupervisorAfterANotice, ObeysTheOrderAtTheDeadline) {
  Supervisor supervisor = noticed(2);

  EXPECT_EQ(to_text(supervisor.on(StopOrdered{SIGTERM})), "cancel start, send stop signal SIGTERM, start grace");
}

}  // namespace
}  // namespace muster
