// Reaps children. Only the spawner also calls wait*, for a child that could not execute its program.
#include "process/reaper.hpp"

#include "process/descendants.hpp"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>

namespace muster {

namespace {

/// A child that has ended and is not reaped; 0: none.
pid_t find_dead() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? info.si_pid : 0;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::optional<std::uint64_t> finite(rlim_t limit) {
  return limit == RLIM_INFINITY ? std::nullopt : std::optional<std::uint64_t>(limit);
}

ProcessLimits limits_of(pid_t pid) {
  const auto limit_of = [&](__rlimit_resource resource) {
    rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
    (void)::prlimit(pid, resource, nullptr, &limit);  // refused: counts as unlimited
    return limit;
  };
  const rlimit cpu = limit_of(RLIMIT_CPU);
  return {.soft_cpu_seconds = finite(cpu.rlim_cur),
          .hard_cpu_seconds = finite(cpu.rlim_max),
          .address_space = finite(limit_of(RLIMIT_AS).rlim_cur),
          .file_size = finite(limit_of(RLIMIT_FSIZE).rlim_cur)};
}

}  // namespace

Reaper::Reaper() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

void Reaper::watch(std::size_t worker, pid_t pid, UniqueFd pidfd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = pid;  // the pid is the worker's until it is reaped
  if (pidfd) {          // otherwise SIGCHLD reports the death
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pidfd.get(), &event);
  }
  watched_[pid] = Watched{worker, std::move(pidfd)};
}

std::vector<Death> Reaper::collect() {
  std::vector<Death> deaths;
  collect_ready(deaths);
  // Reap adopted orphans, and workers without a pidfd.
  for (pid_t dead = find_dead(); dead > 0; dead = find_dead()) {
    const bool is_worker = watched_.contains(dead);
    if (is_worker) {
      collect_ready(deaths);  // the worker ended after the first call: others may have ended before it
    }
    const bool is_reaped = is_worker && !watched_.contains(dead);
    if (!is_reaped && !reap(dead, deaths)) {
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
      const pid_t pid = events[static_cast<std::size_t>(i)].data.fd;
      if (!reap(pid, deaths)) {
        note_traced_zombie(pid, deaths);
      }
    }
    if (ready < static_cast<int>(events.size())) {
      return;
    }
  }
}

/// False: nothing was reaped.
bool Reaper::reap(pid_t pid, std::vector<Death>& deaths) {
  const auto watched = watched_.find(pid);
  Death death;
  if (watched != watched_.end()) {
    death = find_death(pid);  // /proc knows it until it is reaped
    death.worker = watched->second.worker;
  }
  int wait_status = 0;
  rusage used{};
  if (::wait4(pid, &wait_status, WNOHANG, &used) != pid) {
    return false;
  }
  if (watched != watched_.end()) {
    death.status = ExitStatus::from_wait_status(wait_status);
    death.use.cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
    death.memory_peak = static_cast<std::uint64_t>(used.ru_maxrss) << 10U;
    deaths.push_back(death);
    watched_.erase(watched);  // closes the pidfd, which leaves the epoll set
  }
  return true;
}

/// Reports a zombie that its tracer has not waited for. Until then nobody else can reap it; later it is reaped like
/// an orphan.
void Reaper::note_traced_zombie(pid_t pid, std::vector<Death>& deaths) {
  const auto watched = watched_.find(pid);
  const auto wait_status = zombie_wait_status(pid);
  const auto tracer = tracer_of_zombie(pid);
  if (watched != watched_.end() && wait_status && tracer) {
    Death death;
    death.worker = watched->second.worker;
    death.status = ExitStatus::from_wait_status(*wait_status);
    death.traced_by = tracer;
    deaths.push_back(death);
    watched_.erase(watched);
  }
}

std::vector<Death> Reaper::collect_traced_zombies() {
  std::vector<pid_t> pids;
  pids.reserve(watched_.size());
  for (const auto& [pid, watched] : watched_) {
    pids.push_back(pid);
  }
  std::vector<Death> deaths;
  for (const pid_t pid : pids) {
    note_traced_zombie(pid, deaths);
  }
  return deaths;
}

/// Reads what is known only until the process is reaped; not needed after a success.
Death Reaper::find_death(pid_t pid) {
  Death death;
  siginfo_t info{};
  const bool is_dead =
      ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
  const bool has_failed = is_dead && (info.si_code != CLD_EXITED || info.si_status != 0);
  if (has_failed) {
    death.use.limits = limits_of(pid);
  }
  struct stat folder {};
  death.user = ::stat(("/proc/" + std::to_string(pid)).c_str(), &folder) == 0 ? folder.st_uid : 0;
  return death;
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
