// A program that is run to its end: what it gets, what it answers, and what is left of it.
#include "process/run_program.hpp"

#include "base/file_io.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

namespace muster {
namespace {

using namespace std::chrono_literals;

class RunProgram : public testing::Test {
 protected:
  RunProgram() {
    ::sigemptyset(&inherited_.signal_mask);
    while (::waitpid(-1, nullptr, 0) > 0) {  // helper processes of other tests
    }
    for (int fd = 3; fd < 1'024; ++fd) {  // as muster does at its start; ctest leaves some open
      (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
  }
  ~RunProgram() override {
    EXPECT_TRUE(::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD) << "no child is left";
  }

  ProgramRequest request(const std::string& script, std::chrono::milliseconds time = 1min) const {
    return {.command = {"/bin/sh", "-c", script},
            .end = std::chrono::steady_clock::now() + time,
            .inherited = &inherited_,
            .variables = {{"NAME", "a value"}, {"PATH", "/usr/bin:/bin"}}};
  }

  std::string ask(const std::string& script) const { return run_program(request(script))->said; }
  std::string end_of(const std::string& script) const { return run_program(request(script))->status.describe(); }

  Inherited inherited_;
};

TEST_F(RunProgram, AnswersByBothStreamsAndItsStatus) {
  EXPECT_EQ(ask("echo \"$NAME\" >&2; echo more; cat"), "a value\nmore\n");
  EXPECT_EQ(end_of("true"), "exit code 0");
  EXPECT_EQ(end_of("exec >&- 2>&-; exit 3"), "exit code 3");
  EXPECT_EQ(end_of("kill -KILL $$"), "signal SIGKILL (Killed)");
}

TEST_F(RunProgram, GetsWhatMusterInherited) {
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  inherited_.descriptors = rlimit{99, 99};
  EXPECT_EQ(ask("ulimit -n"), "99\n");
  EXPECT_EQ(ask("sed -n 's/^SigBlk:.//p' /proc/self/status"), "0000000000000000\n");
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(RunProgram, LeadsASessionAndHasOnlyItsOwnDescriptors) {
  EXPECT_EQ(ask("test $(cut -d' ' -f6 /proc/$$/stat) = $$ && echo leads"), "leads\n");
  EXPECT_EQ(ask("test -t 0 || exec ls /proc/self/fd"), "0\n1\n2\n3\n") << "its own three, and the folder that it reads";
}

TEST_F(RunProgram, GetsNoVariablesWithTheRightsOfAnother) {
  ProgramRequest asked = request("pwd; echo \"$NAME,$PATH\"");
  asked.rights = *rights_of(::getpid());
  EXPECT_EQ(run_program(asked)->said, "/\n,/usr/local/bin:/usr/bin:/bin\n");
}

TEST_F(RunProgram, IsKilledWithItsGroupWhenItsTimeIsOver) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const auto answer = run_program(request("echo begun; sleep 100 & exec sleep 100", 300ms));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->end, ProgramAnswer::End::TooLate);
  EXPECT_EQ(answer->said, "begun\n");
  for (int status = 0; ::waitpid(-1, &status, 0) > 0;) {
    EXPECT_TRUE(WIFSIGNALED(status)) << "the process in the background was killed, too";
  }
}

TEST_F(RunProgram, IsKilledWhenItHasClosedItsOutputAndRunsOn) {
  EXPECT_EQ(run_program(request("exec >&- 2>&-; exec sleep 100", 100ms))->end, ProgramAnswer::End::TooLate);
}

TEST_F(RunProgram, IsKilledWhenTheLifelineIsClosed) {
  auto lifeline = make_pipe();
  ASSERT_TRUE(lifeline);
  ProgramRequest asked = request("exec sleep 100");
  asked.lifeline = lifeline->read.get();
  lifeline->write.reset();
  EXPECT_EQ(run_program(asked)->end, ProgramAnswer::End::Cancelled);
}

TEST_F(RunProgram, KeepsTheFirstPartOfALongOutput) {
  EXPECT_LE(ask("head -c 6000000 /dev/zero").size(), std::size_t{4'200'000});
  EXPECT_GE(ask("head -c 6000000 /dev/zero").size(), std::size_t{4'190'000});
}

TEST_F(RunProgram, IsNamedWhenItCannotRun) {
  const auto answer = run_program({.command = {"/nowhere/program"}, .end = {}});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "cannot run '/nowhere/program': No such file or directory");
}

}  // namespace
}  // namespace muster
