// Asks the kernel what it allows, in ways that change nothing. Each answer is an errno; what follows from it is decided in
// guarantees.cpp.
#include "process/control_group.hpp"
#include "process/descendants.hpp"
#include "process/loop_calls.hpp"

#include "base/unique_fd.hpp"
#include "environment/oom_counter.hpp"
#include "process/guarantees.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace muster {
namespace {

/// `wrong`: the error that says that the call is there, and that it was asked for nonsense.
int answer_of(long result, int wrong = 0) {
  return result >= 0 || errno == wrong ? 0 : errno;
}

/// As the first process we adopt orphans whether we may ask for it or not.
int probe_subreaper() {
  int before = 0;
  const int answer = answer_of(::prctl(PR_GET_CHILD_SUBREAPER, &before));
  return ::getpid() == 1 ? 0
         : answer != 0   ? answer
                         : answer_of(::prctl(PR_SET_CHILD_SUBREAPER, before));
}

/// Somebody may have armed it for us: it stays what it is.
int probe_death_signal() {
  int before = 0;
  const int answer = answer_of(::prctl(PR_GET_PDEATHSIG, &before));
  return answer != 0 ? answer : answer_of(::prctl(PR_SET_PDEATHSIG, before));
}

/// The first process is always there, and everybody may read its line: where nobody shows it, much more is hidden.
bool is_first_process_hidden() {
  const UniqueFd line(::open("/proc/1/stat", O_RDONLY | O_CLOEXEC));
  const bool is_refused = !line && (errno == ENOENT || errno == EPERM || errno == EACCES);
  return is_refused && (::kill(1, 0) == 0 || errno == EPERM);
}

ProcView look_at_proc() {
  if (!is_proc_ours()) {
    return ::access("/proc/stat", F_OK) == 0 ? ProcView::Foreign : ProcView::Missing;
  }
  return is_first_process_hidden() ? ProcView::Hidden : ProcView::Whole;
}

int probe_pidfd_send_signal() {
  const UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  // Without a pidfd: -1, which is no descriptor to a call that is there.
  return answer_of(::syscall(SYS_pidfd_send_signal, self.get(), 0, nullptr, 0), EBADF);
}

int probe_pidfd_open() {
  const UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  return self ? 0 : errno;
}

/// It starts none: a request of no size is nonsense. The C library has a way around a call that is missing, and none
/// around one that is forbidden.
int probe_threads() {
  const int answer = answer_of(::syscall(SYS_clone3, nullptr, 0), EINVAL);
  return answer == ENOSYS ? 0 : answer;
}

/// The calls without which a job of one node ends with 70 or 71. Each is asked for nonsense, or for what is closed at once.
std::string probe_worker_starts() {
  std::array<int, 2> ends{-1, -1};
  const int pipe = answer_of(::pipe2(ends.data(), O_CLOEXEC));
  const UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  char byte = 0;
  const int random = answer_of(::getrandom(&byte, sizeof byte, 0));
  const int group = answer_of(::setpgid(0, -1), EINVAL);
  const UniqueFd local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int socket = local ? 0 : errno;
  for (const auto& [call, answer] :
       {std::pair{"pipe2", pipe}, {"getrandom", random}, {"setpgid", group}, {"socket", socket}}) {
    if (answer != 0) {
      return system_error(call, answer).message;
    }
  }
  return {};
}

std::uint64_t count_descriptors() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : 0;
}

}  // namespace

SystemCapabilities probe_before_start() {
  SystemCapabilities answers;
  answers.subreaper = probe_subreaper();
  answers.death_signal = probe_death_signal();
  answers.proc = look_at_proc();
  return answers;
}

SystemCapabilities probe_system() {
  constexpr int kNoSuchPolicy = 0xFFF;
  SystemCapabilities answers = probe_before_start();
  if (const auto tried = probe_event_loop(); !tried) {
    answers.no_loop = tried.error().message;
  }
  answers.no_workers = probe_worker_starts();
  answers.pidfd_open = probe_pidfd_open();
  answers.pidfd_send_signal = probe_pidfd_send_signal();
  answers.control_group = probe_cgroup();
  answers.close_range = answer_of(::syscall(SYS_close_range, ~0U, ~0U, CLOSE_RANGE_CLOEXEC));
  answers.threads = probe_threads();
  answers.bind_to_memory =
      answer_of(::syscall(SYS_set_mempolicy, kNoSuchPolicy, nullptr, 0), EINVAL);
  answers.oom_counter = read_oom_counter(find_oom_counter()) ? 0 : ENOENT;
  answers.is_filtered = ::prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
  answers.gains_nothing = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
  answers.descriptors = count_descriptors();
  return answers;
}

}  // namespace muster
