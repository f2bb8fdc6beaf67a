// Waits for children. Nothing else in the agent calls wait*, but spawn for a child that never ran.
#include "reaper.hpp"

#include <sys/epoll.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>

namespace muster {

namespace {

/// A child that has ended and is not buried; 0 if there is none.
pid_t find_dead() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? info.si_pid : 0;
}

}  // namespace

Reaper::Reaper() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

void Reaper::watch(std::size_t worker, pid_t pid, UniqueFd pidfd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = pid;  // the pid stays the worker's until we bury it
  if (pidfd) {          // without it SIGCHLD tells
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pidfd.get(), &event);
  }
  watched_[pid] = Watched{worker, std::move(pidfd)};
}

std::vector<Death> Reaper::collect() {
  std::vector<Death> deaths;
  collect_ready(deaths);
  // Orphans that we adopted, and workers without a pidfd.
  for (pid_t dead = find_dead(); dead > 0; dead = find_dead()) {
    const bool is_worker = watched_.contains(dead);
    if (is_worker) {
      collect_ready(deaths);  // it ended after the first look: others may have ended before it
    }
    const bool is_buried = is_worker && !watched_.contains(dead);
    if (!is_buried && !bury(dead, deaths)) {
      break;
    }
  }
  return deaths;
}

void Reaper::collect_ready(std::vector<Death>& deaths) {
  std::array<epoll_event, 64> events{};
  while (true) {
    const int ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    for (int i = 0; i < ready; ++i) {
      (void)bury(events[static_cast<std::size_t>(i)].data.fd, deaths);
    }
    if (ready < static_cast<int>(events.size())) {
      return;
    }
  }
}

/// False when there was nothing to bury.
bool Reaper::bury(pid_t pid, std::vector<Death>& deaths) {
  int wait_status = 0;
  if (::waitpid(pid, &wait_status, WNOHANG) != pid) {
    return false;
  }
  if (const auto watched = watched_.find(pid); watched != watched_.end()) {
    deaths.push_back({watched->second.worker, ExitStatus::from_wait_status(wait_status)});
    watched_.erase(watched);  // closes the pidfd, which leaves the epoll set
  }
  return true;
}

std::vector<Stopped> Reaper::collect_stopped() const {
  std::vector<Stopped> stopped;
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG) != 0 || info.si_pid == 0) {
      return stopped;
    }
    if (const auto watched = watched_.find(info.si_pid); watched != watched_.end()) {
      stopped.push_back({watched->second.worker, info.si_pid, info.si_status});
    }
  }
}

bool Reaper::has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

}  // namespace muster
