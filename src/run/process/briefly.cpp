// A child is waited for by looking: the guard waits for no signal any more.
#include "briefly.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace muster {

namespace {

/// The guard has a handful.
void close_all_but(std::optional<int> kept) {
  constexpr int kHighest = 1024;
  for (int fd = 0; fd < kHighest; ++fd) {
    if (fd != kept) {
      (void)::close(fd);
    }
  }
}

}  // namespace

void do_briefly(const std::function<void()>& work,
                std::optional<int> kept,
                std::chrono::milliseconds most_time) {
  const pid_t child = ::fork();
  if (child < 0) {
    work();  // no process can be made: it has to be done here
    return;
  }
  if (child == 0) {
    close_all_but(kept);
    work();
    ::_exit(0);
  }
  const auto end = std::chrono::steady_clock::now() + most_time;
  timespec pause{0, 100'000};  // nearly always it is done by then
  constexpr long kLongestPause = 20'000'000;
  while (::waitpid(child, nullptr, WNOHANG) == 0 && std::chrono::steady_clock::now() < end) {
    (void)::ppoll(nullptr, 0, &pause, nullptr);
    pause.tv_nsec = std::min(2 * pause.tv_nsec, kLongestPause);
  }
}

}  // namespace muster
