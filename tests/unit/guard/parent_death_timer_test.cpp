// An agent whose guard is gone, seen from above both.
#include "guard/guard.hpp"

#include <gtest/gtest.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

namespace muster {
namespace {

/// The agent of a guard that ends at once. It never returns, and cannot outlive the test for long.
[[noreturn]] void be_agent(pid_t guard, const std::function<void()>& turn) {
  constexpr unsigned kLongEnough = 20;
  arm_parent_death_timer(guard, std::chrono::seconds(1));
  (void)::alarm(kLongEnough);
  while (true) {
    turn();
  }
}

/// The wait status of an agent that calls `turn` again and again after its guard has exited.
int end_of_agent_that(const std::function<void()>& turn) {
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t guard = ::fork();
  if (guard == 0) {
    const pid_t self = ::getpid();
    const pid_t agent = ::fork();
    if (agent == 0) {
      be_agent(self, turn);
    }
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(guard, &status, 0), guard);
  EXPECT_GT(::waitpid(-1, &status, 0), 0);
  return status;
}

TEST(WithoutGuard, EndsAnAgentThatTurnsWithoutEnd) {
  const int status = end_of_agent_that([] {});

  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(WithoutGuard, EndsOneThatTurnsWithoutEndAndWritesToAClosedPipe) {
  const int status = end_of_agent_that([] { (void)::kill(::getpid(), SIGPIPE); });

  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(WithoutGuard, DoesNotKillAnAgentThatFeedsTheTimer) {
  int turns = 0;
  const int status = end_of_agent_that([&turns] {
    constexpr int kTurns = 15;  // half as long again as it may be silent
    constexpr useconds_t kPause = 100'000;
    feed_parent_death_timer();
    (void)::usleep(kPause);
    if (++turns == kTurns) {
      ::_exit(7);
    }
  });

  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace muster
