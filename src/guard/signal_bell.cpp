// The signal that is kept is one that muster blocks, that no option can name, and that the kernel sends at most to say what a
// failed write says as well.
#include "guard/signal_bell.hpp"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace muster {
namespace {

constexpr int kKept = SIGXFSZ;

}  // namespace

GuardSignalNotifier GuardSignalNotifier::of_this_process(const std::set<int>& signals) {
  sigset_t heard;
  sigemptyset(&heard);
  sigaddset(&heard, kKept);
  for (const int signal : signals) {
    sigaddset(&heard, signal);
  }
  GuardSignalNotifier made{UniqueFd(::signalfd(-1, &heard, SFD_NONBLOCK | SFD_CLOEXEC)),
                           UniqueFd(::epoll_create1(EPOLL_CLOEXEC))};
  epoll_event once_each{};
  once_each.events = EPOLLIN | EPOLLET;
  if (::epoll_ctl(made.notifier.get(), EPOLL_CTL_ADD, made.signals.get(), &once_each) != 0) {
    made.notifier.reset();
  }
  return made;
}

void GuardSignalNotifier::listen() {
  (void)::kill(::getpid(), kKept);
}

void GuardSignalNotifier::silence(int notifier) {
  epoll_event rung{};
  (void)::epoll_wait(notifier, &rung, 1, 0);
}

}  // namespace muster
