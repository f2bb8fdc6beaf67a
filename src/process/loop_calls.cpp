// In the order in which a loop makes them.
#include "process/loop_calls.hpp"

#include "base/unique_fd.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include <cerrno>
#include <csignal>

namespace muster {
namespace {

Error refused(const char* call) {
  return system_error(call, errno);
}

/// What its libraries do with every descriptor.
Result<> try_calls_on(int fd) {
  if (::fcntl(fd, F_GETFD) < 0) {
    return refused("fcntl");
  }
  int is_blocking = 0;
  if (::ioctl(fd, FIONBIO, &is_blocking) != 0) {
    return refused("ioctl");
  }
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? Result<>() : refused("fstat");
}

/// Signals that are not blocked are never read: a death would not be noticed.
Result<> try_signal_mask() {
  sigset_t blocked;
  errno = ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return errno == 0 ? Result<>() : refused("sigprocmask");
}

}  // namespace

Result<> probe_event_loop() {
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
  if (auto tried = try_signal_mask(); !tried) {
    return tried;
  }
  sigset_t signals;
  sigemptyset(&signals);
  const UniqueFd signalfd_(::signalfd(-1, &signals, SFD_CLOEXEC));
  if (!signalfd_) {
    return refused("signalfd");
  }
  if (auto tried = try_calls_on(signalfd_.get()); !tried) {
    return tried;
  }
  epoll_event event{};
  if (::epoll_ctl(loop.get(), EPOLL_CTL_ADD, signalfd_.get(), &event) != 0) {
    return refused("epoll_ctl");
  }
  if (::epoll_wait(loop.get(), &event, 1, 0) < 0) {
    return refused("epoll_wait");
  }
  return {};
}

}  // namespace muster
