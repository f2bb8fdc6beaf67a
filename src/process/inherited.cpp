// Takes signals, descriptors and the terminal under control, and makes the marker of the job's processes.
#include "process/inherited.hpp"

#include "base/file_io.hpp"
#include "base/random.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace muster {
namespace {

std::array<bool, 3>& closed_at_start() {
  static std::array<bool, 3> closed{};
  return closed;
}

/// Opens /dev/null at `fd`, inheritable like descriptors 0 to 2.
void put_null_at(int fd) {
  UniqueFd null = open_null(fd == STDIN_FILENO ? NullFor::Reading : NullFor::Writing);
  if (null.get() == fd) {
    (void)::fcntl(null.release(), F_SETFD, 0);
  } else if (null) {
    (void)::dup2(null.get(), fd);
  }
}

/// Sets close-on-exec for everything inherited above 2, which stays open for us.
void keep_descriptors_from_workers() {
  if (::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0) {
    return;
  }
  // Before Linux 5.11, or refused. Descriptors above this limit remain inheritable.
  constexpr int kHighest = 4096;
  for (int fd = 3; fd < kHighest; ++fd) {
    (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);  // fails for closed ones
  }
}

/// Returns the old limit; empty if it stays, which may suffice.
std::optional<rlimit> raise_descriptor_limit() {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0) {
    return std::nullopt;
  }
  rlimit raised = before;
  raised.rlim_cur = raised.rlim_max;
  if (before.rlim_cur == before.rlim_max) {
    return std::nullopt;
  }
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? std::optional(before) : std::nullopt;
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

StreamKind probe_stream(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    return StreamKind::Other;
  }
  if (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)) {
    return StreamKind::File;
  }
  return S_ISCHR(status.st_mode) && ::isatty(fd) != 0 ? StreamKind::Terminal : StreamKind::Other;
}

}  // namespace

sigset_t handled_signals(const std::set<int>& more) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP, SIGCHLD}) {
    sigaddset(&set, signal);
  }
  for (const int signal : more) {
    sigaddset(&set, signal);
  }
  return set;
}

void take_over_signals(const std::set<int>& more) {
  const sigset_t set = handled_signals(more);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Inherited setup_process() {
  Inherited inherited;
  sigset_t blocked = handled_signals();
  // Not handled, but blocked, because they must not end or stop us: a closed console, a full file, a write to the
  // terminal from the background.
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGTTOU, SIGTTIN}) {
    sigaddset(&blocked, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &blocked, &inherited.signal_mask);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT}) {
    if (is_ignored(signal)) {
      inherited.ignored_signals.insert(signal);
    }
  }
  inherited.is_child_signal_ignored = is_ignored(SIGCHLD);
  inherited.is_pipe_signal_ignored = is_ignored(SIGPIPE);
  // If SIGCHLD were ignored, the kernel would discard our workers' exit codes.
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &by_default, nullptr);
  // Opens closed descriptors below 3: the next opened file would get the number, and a worker's output.
  for (int fd = 0; fd < 3; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) {  // closed, not refused
      closed_at_start()[static_cast<std::size_t>(fd)] = true;
      put_null_at(fd);
    }
  }
  keep_descriptors_from_workers();
  inherited.descriptors = raise_descriptor_limit();
  return inherited;
}

Result<void> check_stack_limit() {
  // The kernel lets arguments and variables take 128 KiB of any stack, or a quarter of a large one.
  constexpr rlim_t kNeeded = rlim_t{512} << 10U;
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= kNeeded) {
    return {};
  }
  return Error{ErrorKind::System, "the limit of the stack is " + std::to_string(stack.rlim_cur >> 10U) +
                                      " KiB (ulimit -s), expected at least " + std::to_string(kNeeded >> 10U) + " KiB"};
}

void pass_to_worker(int descriptor) {
  struct stat status {};
  if (descriptor > 2 && ::fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode)) {
    (void)::fcntl(descriptor, F_SETFD, 0);
  }
}

void restore_ignored_signals(const Inherited& inherited) {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  if (inherited.is_child_signal_ignored) {
    ::sigaction(SIGCHLD, &ignore, nullptr);
  }
  if (inherited.is_pipe_signal_ignored) {
    ::sigaction(SIGPIPE, &ignore, nullptr);
  }
}

void release_signals(const Inherited& inherited) {
  ::pthread_sigmask(SIG_SETMASK, &inherited.signal_mask, nullptr);
}

void die_on_stop_signals(const Inherited& inherited) {
  if (::getpid() == 1) {
    return;
  }
  sigset_t requests;
  sigemptyset(&requests);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    if (sigismember(&inherited.signal_mask, signal) == 0) {
      sigaddset(&requests, signal);
    }
  }
  ::pthread_sigmask(SIG_UNBLOCK, &requests, nullptr);
}

bool was_closed(int standard_fd) {
  return closed_at_start()[static_cast<std::size_t>(standard_fd)];
}

StreamKind kind_of_stream(int standard_fd) {
  static std::array<std::optional<StreamKind>, 3> known;
  auto& kind = known[static_cast<std::size_t>(standard_fd)];
  if (!kind) {
    kind = probe_stream(standard_fd);
  }
  return *kind;
}

void probe_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    (void)kind_of_stream(fd);
  }
}

bool is_terminal(int standard_fd) {
  return kind_of_stream(standard_fd) == StreamKind::Terminal;
}

// Job control: see setpgid(2), tcsetpgrp(3) and credentials(7). SIGTTOU is blocked in the agent, so it may change the
// foreground group from the background.

Terminal::Terminal(pid_t guard, bool is_wanted)
    : guard_(guard), guard_group_(::getpgid(guard)), is_wanted_(is_wanted && is_terminal(STDIN_FILENO)) {
  fd_ = is_wanted_ && ::tcgetpgrp(STDIN_FILENO) == guard_group_ ? STDIN_FILENO : -1;
}

void Terminal::give_back() {
  if (is_ours()) {
    take_terminal_from_exited(fd_, guard_group_);
    fd_ = -1;
  }
}

void take_terminal_from_exited(int fd, pid_t group) {
  const pid_t foreground = ::tcgetpgrp(fd);
  // After `bg` the job has no terminal that it could give: the shell has it.
  if (foreground > 0 && ::kill(-foreground, 0) != 0 && errno == ESRCH) {
    (void)::tcsetpgrp(fd, group);
  }
}

void Terminal::send_sigstop_to_guard() const {
  if (::getppid() == guard_) {  // after its death the pid may belong to another process
    (void)::kill(guard_, SIGSTOP);
  }
}

void Terminal::lend_again(pid_t worker) {
  if (is_wanted_ && ::tcgetpgrp(STDIN_FILENO) == guard_group_) {
    fd_ = STDIN_FILENO;
    (void)::tcsetpgrp(fd_, worker);
  }
}

// The marker of a job.

Result<std::string> make_marker() {
  constexpr std::size_t kBytes = 8;
  return random_digits(kBytes);
}

std::string add_marker(const std::map<std::string, std::string>& variables, const std::string& marker) {
  const auto outer = variables.find(kMarkerVariable);
  return outer == variables.end() ? marker : outer->second + ":" + marker;
}

}  // namespace muster
