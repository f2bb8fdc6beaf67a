// In the order in which a loop makes them.
#include "loop_calls.hpp"

#include <muster/base/unique_fd.hpp>

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include <cerrno>
#include <csignal>

namespace muster {
namespace {

Error refused(const char* call) {
  return system_error(std::string("cannot run the job: ") + call, errno);
}

}  // namespace

Result<> try_loop_calls() {
  const UniqueFd loop(::epoll_create1(EPOLL_CLOEXEC));
  if (!loop) {
    return refused("epoll_create1");
  }
  // Without it the loop has another way; one that can be made and not be set is of no use to it.
  const UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  const itimerspec never{};
  if (timer && ::timerfd_settime(timer.get(), 0, &never, nullptr) != 0) {
    return refused("timerfd_settime");
  }
  sigset_t signals;
  sigemptyset(&signals);
  const UniqueFd signal_file(::signalfd(-1, &signals, SFD_CLOEXEC));
  if (!signal_file) {
    return refused("signalfd");
  }
  epoll_event event{};
  if (::epoll_ctl(loop.get(), EPOLL_CTL_ADD, signal_file.get(), &event) != 0) {
    return refused("epoll_ctl");
  }
  if (::epoll_wait(loop.get(), &event, 1, 0) < 0) {
    return refused("epoll_wait");
  }
  return {};
}

}  // namespace muster
