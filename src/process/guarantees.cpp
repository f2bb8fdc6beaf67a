// Probes the system calls that guarantees need, and derives the guarantees: one row each.
#include "process/guarantees.hpp"

#include "base/file_io.hpp"
#include "base/text.hpp"
#include "environment/cgroups.hpp"
#include "process/descendants.hpp"

#include <boost/system/system_error.hpp>

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace muster {
namespace {

/// A guarantee that needs one call.
struct Row {
  const char* name;
  const char* by;
  int SystemCapabilities::*answer;
  Support without;              ///< what is left if the call is refused
  const char* means;            ///< the loss, for users
  const char* since;            ///< first Linux version with the call
  const char* right = nullptr;  ///< the capability without which containers refuse it
};

// The texts are also warnings at a job's start: docs/troubleshooting.md.
constexpr auto kRows = std::to_array<Row>({
    {"the order in which workers ended is known", "pidfd_open", &SystemCapabilities::pidfd_open, Support::InPart,
     "if several workers end in the same moment, muster does not know which was the first, and the report says so",
     "5.3"},
    {"a signal reaches the process that is meant", "pidfd_send_signal", &SystemCapabilities::pidfd_send_signal,
     Support::InPart,
     "muster signals descendants of workers by their number, right after it has compared their start time", "5.1"},
    {"processes whose parent has ended are found", "PR_SET_CHILD_SUBREAPER", &SystemCapabilities::subreaper,
     Support::Not, "muster neither finds nor ends a process of the job whose parent has ended", "3.4"},
    {"workers end with muster, however it ends", "PR_SET_PDEATHSIG", &SystemCapabilities::death_signal, Support::Not,
     "if both processes of muster are killed at once, the workers run on", "2.1"},
    {"nothing forks faster than it is killed", "cgroup.kill", &SystemCapabilities::control_group, Support::InPart,
     "muster kills processes in rounds, and may miss a process that forks without end", "5.14"},
    {"workers inherit no descriptor but their three", "close_range", &SystemCapabilities::close_range, Support::InPart,
     "a descriptor above 4096 that was open at muster's start stays open in workers", "5.11"},
    {"supervision does not wait for names of hosts", "clone3", &SystemCapabilities::threads, Support::InPart,
     "muster itself looks up names of hosts, and answers nobody until it has the result", "5.3"},
    {"workers can be bound to memory", "set_mempolicy", &SystemCapabilities::bind_to_memory, Support::InPart,
     "a bound worker gets its memory from the NUMA node that first uses it", "2.6", "CAP_SYS_NICE"},
    {"a kill by the OOM killer is recognised", "oom_kill", &SystemCapabilities::oom_counter, Support::InPart,
     "muster does not know whether the kernel killed a worker because memory ran out", "4.13"},
});

constexpr const char* kMountGroups = "mount the container's control groups at /sys/fs/cgroup";

std::string remedy_for(int error_number, const Row& row) {
  switch (error_number) {
    case ENOSYS:
    case EINVAL:  // a flag of a later version
      return std::string("Linux ") + row.since + " or later has it; gVisor may in a later version";
    case EPERM:
    case EACCES:
      return row.right != nullptr ? std::string("add ") + row.right + " to the container's capabilities"
                                  : "the container's system call filter or rights forbid it: allow the call in the "
                                    "profile (Docker does from 20.10 on)";
    case ENOENT:
      return kMountGroups;
    default:
      return "no other way is known";
  }
}

std::string remedy_for_group(int error_number, const Row& row) {
  switch (error_number) {
    case ENOENT:
      return std::string(kMountGroups) + ", version 2 (cgroup2)";
    case ENOSYS:
      return remedy_for(error_number, row);
    default:
      return "let the container write below its own control group (systemd: Delegate=yes)";
  }
}

Guarantee judge(const Row& row, const SystemCapabilities& answers) {
  const int error_number = answers.*row.answer;
  if (error_number == 0) {
    return {row.name, row.by, Support::Whole, "", "", ""};
  }
  const bool is_group = row.answer == &SystemCapabilities::control_group;
  return {row.name,    row.by,
          row.without, std::string(row.by) + ": " + std::generic_category().message(error_number),
          row.means,   is_group ? remedy_for_group(error_number, row) : remedy_for(error_number, row)};
}

/// A guarantee without which no job starts.
Guarantee judge_needed(const char* name, const char* by, const std::string& refusal) {
  Guarantee guarantee{name, by, Support::Whole, "", "", ""};
  if (!refusal.empty()) {
    guarantee.hold = Support::Not;
    guarantee.because = refusal;
    guarantee.means = "no job starts";
    guarantee.remedy = "allow the call in the container's system call filter; the usual ones of all runtimes do";
  }
  return guarantee;
}

Guarantee judge_proc(ProcView view) {
  Guarantee guarantee{"every process of the job is seen", "/proc", Support::Whole, "", "", ""};
  if (view == ProcView::Whole) {
    return guarantee;
  }
  if (view == ProcView::Hidden) {
    guarantee.hold = Support::InPart;
    guarantee.because = "/proc hides processes of other users (hidepid)";
    guarantee.means =
        "muster neither finds nor ends a process of the job that now belongs to another user, or whose program this "
        "user cannot read";
    guarantee.remedy = "run muster as the user that such programs become, or mount /proc without hidepid";
    return guarantee;
  }
  guarantee.hold = Support::Not;
  guarantee.because = view == ProcView::Missing ? "/proc cannot be read" : "/proc is that of another pid namespace";
  guarantee.means =
      "'/proc' does not show the processes that are here, going on without it: muster neither finds nor ends a process "
      "that leaves its worker's process group, and does not see limits of CPUs";
  guarantee.remedy = "mount it in the container: mount -t proc proc /proc (unshare: --mount-proc)";
  return guarantee;
}

std::string names_of(const std::vector<Guarantee>& all, Support hold, const std::string& title) {
  std::vector<std::string> names;
  for (const Guarantee& guarantee : all) {
    if (guarantee.hold == hold) {
      names.push_back(guarantee.name + " (" + guarantee.because + ")");
    }
  }
  return names.empty() ? "" : "; " + title + ": " + join(names, ", ");
}

}  // namespace

std::vector<Guarantee> guarantees(const SystemCapabilities& answers) {
  std::vector<Guarantee> all;
  all.reserve(kRows.size() + 3);
  all.push_back(judge_needed("a job can be run", "an event loop", answers.no_loop));
  all.push_back(judge_needed("workers can be started", "pipe2, getrandom, setpgid, socket", answers.no_workers));
  all.push_back(judge_proc(answers.proc));
  for (const Row& row : kRows) {
    all.push_back(judge(row, answers));
  }
  return all;
}

std::string describe(const std::vector<Guarantee>& all) {
  const auto whole = std::count_if(all.begin(), all.end(),
                                   [](const Guarantee& guarantee) { return guarantee.hold == Support::Whole; });
  return std::to_string(whole) + " of " + count_of(all.size(), "guarantee") + " hold here" +
         names_of(all, Support::InPart, "in part") + names_of(all, Support::Not, "not");
}

// Probes the kernel without changing anything. Each answer is an errno.

namespace {

/// `wrong`: the errno of a call that exists and got a nonsensical argument.
int answer_of(long result, int wrong = 0) {
  return result >= 0 || errno == wrong ? 0 : errno;
}

/// A container's init adopts orphans even if it may not ask for it.
int probe_subreaper() {
  int before = 0;
  const int answer = answer_of(::prctl(PR_GET_CHILD_SUBREAPER, &before));
  return ::getpid() == 1 ? 0 : answer != 0 ? answer : answer_of(::prctl(PR_SET_CHILD_SUBREAPER, before));
}

/// Sets the signal that is armed already, perhaps by another program.
int probe_death_signal() {
  int before = 0;
  const int answer = answer_of(::prctl(PR_GET_PDEATHSIG, &before));
  return answer != 0 ? answer : answer_of(::prctl(PR_SET_PDEATHSIG, before));
}

/// Every user may read the stat of pid 1, which always exists: if it is hidden, much more is.
bool is_first_process_hidden() {
  const UniqueFd line(::open("/proc/1/stat", O_RDONLY | O_CLOEXEC));
  const bool is_refused = !line && (errno == ENOENT || errno == EPERM || errno == EACCES);
  return is_refused && (::kill(1, 0) == 0 || errno == EPERM);
}

ProcView probe_proc() {
  if (!is_proc_ours()) {
    return ::access("/proc/stat", F_OK) == 0 ? ProcView::Foreign : ProcView::Missing;
  }
  return is_first_process_hidden() ? ProcView::Hidden : ProcView::Whole;
}

/// Starts no thread: a request of size 0 is invalid. The C library has a fallback if the call is missing, but none if
/// it is forbidden.
int probe_threads() {
  const int answer = answer_of(::syscall(SYS_clone3, nullptr, 0), EINVAL);
  return answer == ENOSYS ? 0 : answer;
}

/// Calls without which a one-node job exits with 70 or 71; each with an invalid argument, or closed at once.
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

}  // namespace

SystemCapabilities probe_before_start() {
  SystemCapabilities answers;
  answers.subreaper = probe_subreaper();
  answers.death_signal = probe_death_signal();
  answers.proc = probe_proc();
  return answers;
}

SystemCapabilities probe_system() {
  constexpr int kNoSuchPolicy = 0xFFF;
  SystemCapabilities answers = probe_before_start();
  if (const auto tried = probe_event_loop(); !tried) {
    answers.no_loop = tried.error().message;
  }
  answers.no_workers = probe_worker_starts();
  const UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  answers.pidfd_open = self ? 0 : errno;
  // Without a pidfd this passes -1, for which an existing call returns EBADF.
  answers.pidfd_send_signal = answer_of(::syscall(SYS_pidfd_send_signal, self.get(), 0, nullptr, 0), EBADF);
  answers.control_group = probe_cgroup();
  answers.close_range = answer_of(::syscall(SYS_close_range, ~0U, ~0U, CLOSE_RANGE_CLOEXEC));
  answers.threads = probe_threads();
  answers.bind_to_memory = answer_of(::syscall(SYS_set_mempolicy, kNoSuchPolicy, nullptr, 0), EINVAL);
  answers.oom_counter = read_oom_counter(find_memory_group().oom_counter) ? 0 : ENOENT;
  answers.is_filtered = ::prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
  answers.gains_nothing = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
  rlimit limit{};
  answers.descriptors = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : 0;
  return answers;
}

// In the order in which an event loop makes these calls.

namespace {

Error refused(const char* call) {
  return system_error(call, errno);
}

/// Calls that Asio makes on every descriptor.
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

}  // namespace

Result<> probe_event_loop() {
  const UniqueFd loop(::epoll_create1(EPOLL_CLOEXEC));
  if (!loop) {
    return refused("epoll_create1");
  }
  // Without a timerfd the loop has a fallback, but not for one that cannot be set.
  const UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  const itimerspec never{};
  if (timer && ::timerfd_settime(timer.get(), 0, &never, nullptr) != 0) {
    return refused("timerfd_settime");
  }
  // Without the signal mask signals are not read, and no death is noticed.
  sigset_t signals;
  errno = ::pthread_sigmask(SIG_BLOCK, nullptr, &signals);
  if (errno != 0) {
    return refused("sigprocmask");
  }
  sigemptyset(&signals);
  const UniqueFd signal_fd(::signalfd(-1, &signals, SFD_CLOEXEC));
  if (!signal_fd) {
    return refused("signalfd");
  }
  TRY(try_calls_on(signal_fd.get()));
  epoll_event event{};
  if (::epoll_ctl(loop.get(), EPOLL_CTL_ADD, signal_fd.get(), &event) != 0) {
    return refused("epoll_ctl");
  }
  if (::epoll_wait(loop.get(), &event, 1, 0) < 0) {
    return refused("epoll_wait");
  }
  return {};
}

// Signals as a descriptor for the event loop.

int open_signalfd(const sigset_t& signals) {
  const int file = ::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (file < 0) {
    throw boost::system::system_error(errno, boost::system::system_category(), "signalfd");
  }
  return file;
}

std::vector<int> read_signals(int file) {
  std::array<signalfd_siginfo, NSIG> pending{};
  const ssize_t size = ::read(file, pending.data(), sizeof pending);
  const auto count = size > 0 ? static_cast<std::size_t>(size) / sizeof pending[0] : 0;
  std::vector<int> signals;
  for (std::size_t i = 0; i < count; ++i) {
    signals.push_back(static_cast<int>(pending[i].ssi_signo));
  }
  return signals;
}

}  // namespace muster
