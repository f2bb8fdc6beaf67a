// One raw call, because every wrapper asks for SIGCHLD at the end of the child.
#include "process/asides.hpp"

#include "process/descendants.hpp"

#include "base/null_device.hpp"
#include "base/unique_fd.hpp"
#include "base/write_all.hpp"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace muster {
namespace {

constexpr char kEndOfAnswer = '.';

/// All from `first` to `last`. Where the call is not there: those that a program usually has.
void close_range(unsigned first, unsigned last) {
  constexpr unsigned kHighest = 4096;
  if (::syscall(SYS_close_range, first, last, 0) == 0) {
    return;
  }
  for (unsigned fd = first; fd <= std::min(last, kHighest); ++fd) {
    (void)::close(static_cast<int>(fd));
  }
}

/// Those of the three standard streams that are not wanted, so that no file gets one of their numbers.
void put_null_at(const std::set<int>& wanted) {
  const UniqueFd null = open_null(NullFor::Writing);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (!wanted.contains(standard)) {
      (void)::dup2(null.get(), standard);
    }
  }
}

/// A pipe that stayed open here would never end for who reads it.
void close_others(const std::vector<int>& kept) {
  std::set<int> wanted(kept.begin(), kept.end());
  put_null_at(wanted);
  wanted.insert({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
  unsigned next = 0;
  for (const int fd : wanted) {
    if (const auto kept_one = static_cast<unsigned>(fd); kept_one > next) {
      close_range(next, kept_one - 1);
    }
    next = static_cast<unsigned>(fd) + 1;
  }
  close_range(next, ~0U);
}

[[noreturn]] void run_helper(const std::vector<int>& kept,
                             const std::function<void()>& work) noexcept {
  (void)::prctl(PR_SET_NAME, "muster-files");  // who lists processes sees what hangs
  close_others(kept);
  work();
  ::_exit(0);
}

}  // namespace

Result<pid_t> fork_helper(const std::vector<int>& kept, const std::function<void()>& work) {
  // As fork(2), with no signal at the end. Every argument is 0, so their order, which is not the same
  // on all machines, does not matter. The one thread that we may have looks names up, and has
  // memory of its own to allocate from: no lock that `work` needs is held.
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone, 0, 0, 0, 0, 0));
  if (pid < 0) {
    return system_error("cannot make a process for files", errno);
  }
  if (pid == 0) {
    run_helper(kept, work);
  }
  return pid;
}

bool is_runnable(pid_t pid) {
  const auto process = find_process(pid);
  return process && (process->state == 'R' || process->state == 'Z');
}

void send_answer(int fd, std::string answer) {
  answer += kEndOfAnswer;
  (void)write_all(fd, answer);  // nobody reads any more: nobody wants to know
}

std::optional<std::string> whole_answer(std::string bytes) {
  if (bytes.empty() || bytes.back() != kEndOfAnswer) {
    return std::nullopt;
  }
  bytes.pop_back();
  return bytes;
}

Result<pid_t> HelperProcesses::start(const std::vector<int>& kept,
                                     const std::function<void()>& work) {
  reap();
  auto pid = fork_helper(kept, work);
  if (!pid) {
    return pid.error();
  }
  pids_.insert(*pid);
  if (!page_.add_helper(*pid)) {
    end(*pid);
    return Error{ErrorKind::System, "cannot make a process for files: too many of them hang"};
  }
  return pid;
}

void HelperProcesses::end(pid_t pid) {
  if (pids_.contains(pid)) {
    (void)::kill(pid, SIGKILL);  // not buried yet, so the number is its own
    reap();
  }
}

/// One that hangs is left: it is found again the next time. The guard must not take the number of one that
/// is buried for ours.
void HelperProcesses::reap() {
  std::erase_if(pids_, [this](pid_t pid) {
    siginfo_t info{};
    const int found =
        ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT | __WALL);
    const bool has_ended = found != 0 || info.si_pid == pid;
    if (has_ended) {
      page_.remove_aside(pid);
      (void)::waitpid(pid, nullptr, WNOHANG | __WALL);
    }
    return has_ended;
  });
}

}  // namespace muster
