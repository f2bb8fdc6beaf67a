// A program that is asked a question: what it gets, what it answers, and what is left of it.
#include "process/probe.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cerrno>
#include <csignal>

namespace muster {
namespace {

class ProbeProgram : public testing::Test {
 protected:
  ProbeProgram() {
    ::sigemptyset(&inherited_.signal_mask);
    while (::waitpid(-1, nullptr, 0) > 0) {  // helper processes of other tests
    }
  }
  ~ProbeProgram() override {
    EXPECT_TRUE(::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD) << "no child is left";
  }

  Result<ProgramAnswer> ask(const std::string& script) {
    return probe_program({"/bin/sh", "-c", script}, inherited_, {{"NAME", "a value"}, {"PATH", "/usr/bin:/bin"}});
  }

  Inherited inherited_;
};

TEST_F(ProbeProgram, AnswersByItsFirstLineAndItsCode) {
  const auto answer = ask("echo \"$NAME\" >&2; echo more");
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->has_succeeded);
  EXPECT_EQ(answer->first_line, "a value");
  EXPECT_FALSE(ask("exit 3")->has_succeeded);
  EXPECT_FALSE(ask("kill -KILL $$")->has_succeeded);
}

TEST_F(ProbeProgram, GetsWhatMusterInherited) {
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  inherited_.descriptors = rlimit{99, 99};
  EXPECT_EQ(ask("ulimit -n")->first_line, "99");
  EXPECT_EQ(ask("sed -n 's/^SigBlk:.//p' /proc/self/status")->first_line, "0000000000000000");
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(ProbeProgram, IsKilledWhenItDoesNotAnswer) {
  const auto answer = ask("exec sleep 100");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "'/bin/sh' has not answered within 5 s");
}

TEST_F(ProbeProgram, IsNamedWhenItCannotRun) {
  const auto answer = probe_program({"/nowhere/program"}, inherited_, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "cannot run '/nowhere/program': No such file or directory");
}

}  // namespace
}  // namespace muster
