// A handler, because the loop that should read a signal is what may be broken; and a timer whose signal is KILL, because
// nothing that runs in a broken process can be relied on.
#include "guard/without_guard.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace muster {
namespace {

/// What a handler of a signal can see is global.
struct End {
  pid_t guard = -1;
  pid_t agent = -1;  ///< -1: there is no timer
  timer_t timer{};
  itimerspec later{};
};
End end_of_agent;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): see above

bool end_is_set() {
  itimerspec left{};
  (void)::timer_gettime(end_of_agent.timer, &left);
  return left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0;
}

/// Comes from the kernel when the guard dies; from a pipe that nobody reads any more, too. A copy of the agent
/// has no timer.
extern "C" void on_pipe_signal(int /*signal*/) {
  const int error_number = errno;
  if (::getpid() == end_of_agent.agent && ::getppid() != end_of_agent.guard && !end_is_set()) {
    feed_parent_death_timer();  // later ones are of pipes: who turns without end and writes to one puts nothing off
  }
  errno = error_number;
}

}  // namespace

void arm_parent_death_timer(pid_t guard, std::chrono::seconds patience) {
  sigevent kill{};
  kill.sigev_notify = SIGEV_SIGNAL;
  kill.sigev_signo = SIGKILL;
  if (::timer_create(CLOCK_MONOTONIC, &kill, &end_of_agent.timer) != 0) {
    return;  // then the loop alone ends us
  }
  end_of_agent.later.it_value.tv_sec = patience.count();
  end_of_agent.guard = guard;
  end_of_agent.agent = ::getpid();
  struct sigaction action {};
  action.sa_handler = &on_pipe_signal;
  action.sa_flags = SA_RESTART;
  (void)::sigaction(SIGPIPE, &action, nullptr);
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  (void)::pthread_sigmask(SIG_UNBLOCK, &pipe_signal, nullptr);
  (void)::prctl(PR_SET_PDEATHSIG, SIGPIPE);  // where it is refused that was said
  if (::getppid() != guard) {
    feed_parent_death_timer();  // it died before
  }
}

void feed_parent_death_timer() {
  if (end_of_agent.agent == ::getpid()) {
    (void)::timer_settime(end_of_agent.timer, 0, &end_of_agent.later, nullptr);
  }
}

}  // namespace muster
