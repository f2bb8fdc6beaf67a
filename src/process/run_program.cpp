// Runs a program to its end by Boost.Process. docs/decisions/0008 says which programs are started in another way.

// Boost.Filesystem is not linked. With a pidfd, which Linux 4.18 lacks, the library would throw and leave the program
// running.
#define BOOST_PROCESS_USE_STD_FS
#define BOOST_PROCESS_V2_DISABLE_PIDFD_OPEN

#include "process/run_program.hpp"

#include "base/file_io.hpp"
#include "process/helper_process.hpp"
#include "process/spawn.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/optional.hpp>  // which Boost.Process 1.81 needs and does not include
#include <boost/process/v2/process.hpp>
#include <boost/type_traits.hpp>  // likewise

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>

namespace muster {
namespace {

namespace process = boost::process::v2;
using ErrorCode = boost::system::error_code;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMostOutput = std::size_t{4} << 20U;
constexpr milliseconds kLeastTime{2};          // to read what the program has written already
constexpr milliseconds kPollInterval{2};       // no descriptor tells of the end of the program, so muster polls for it
constexpr milliseconds kLongPollInterval{20};  // the same, while output may come: a descriptor tells of that
// After SIGKILL; more while it waits for a CPU; one that hangs in a call dies later.
constexpr milliseconds kTimeToDie{20};

/// Prepares the child between fork and exec.
struct ProgramSetup {
  const ProgramRequest& request;
  int input;
  int output;
  pid_t parent = ::getpid();

  bool prepare() const {
    (void)::setsid();  // no terminal: whoever has one can type into the shell that reads it (TIOCSTI)
    if (request.rights && (::chdir("/") != 0 || !take_rights(*request.rights))) {
      return false;
    }
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);  // after the rights, with which the kernel takes it away
    if (::getppid() != parent || ::dup2(input, STDIN_FILENO) < 0 || ::dup2(output, STDOUT_FILENO) < 0 ||
        ::dup2(output, STDERR_FILENO) < 0) {
      return false;
    }
    const Inherited* inherited = request.inherited;
    if (inherited != nullptr) {
      restore_ignored_signals(*inherited);
      release_signals(*inherited);
    }
    return inherited == nullptr || !inherited->descriptors || ::setrlimit(RLIMIT_NOFILE, &*inherited->descriptors) == 0;
  }

  template <class Launcher>
  ErrorCode on_exec_setup(Launcher& /*launcher*/, const std::filesystem::path& /*path*/, const char* const*& /*argv*/) {
    errno = 0;
    if (prepare()) {
      return {};
    }
    errno = errno == 0 ? EPERM : errno;  // the library takes 0 for success
    return {errno, boost::system::system_category()};
  }

  /// The library would call exit(3), which writes what we have buffered a second time.
  template <class... Arguments>
  void on_exec_error(Arguments&&... /*arguments*/) {
    ::_exit(127);
  }
};

struct RunningProgram {
  pid_t pid;
  UniqueFd output;  ///< empty: nobody writes any more
};

Result<RunningProgram> start_program(const ProgramRequest& request) {
  auto pipe = TRY(make_pipe());
  const UniqueFd null = open_null(NullFor::Reading);
  const std::map<std::string, std::string> plain{{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  const std::vector<std::string> entries = environment_entries(request.rights ? plain : request.variables);
  const std::vector<char*> environment = pointers(entries);
  process::posix::default_launcher launcher;
  launcher.env = entries.empty() ? launcher.env : environment.data();
  boost::asio::io_context io;
  ErrorCode error;
  const std::string& path = request.command.front();
  auto program = launcher(io.get_executor(), error, std::filesystem::path(path),
                          std::vector<std::string>(request.command.begin() + 1, request.command.end()),
                          ProgramSetup{request, null.get(), pipe.write.get()});
  if (!error) {
    (void)program.detach();  // its destructor would kill the program
    return RunningProgram{launcher.pid, std::move(pipe.read)};
  }
  if (launcher.pid > 0) {
    (void)::waitpid(launcher.pid, nullptr, 0);  // the library leaves it a zombie
  }
  return Error{ErrorKind::NotExecutable, system_error("cannot run '" + path + "'", error.value()).message};
}

/// Does not reap the process, so that its process group keeps its number and can still be killed.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

void read_some(UniqueFd& output, ProgramAnswer& answer) {
  std::array<char, 4096> buffer{};
  const ssize_t count = ::read(output.get(), buffer.data(), buffer.size());
  if (count <= 0) {
    output.reset();
  } else if (answer.said.size() < kMostOutput) {
    answer.said.append(buffer.data(), static_cast<std::size_t>(count));
  } else {
    answer.rest.erase(0, answer.rest.size() - std::min(answer.rest.size(), kMostRest));
    answer.rest.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

/// Reads what is in the pipe, and not for ever: another process may write on.
void read_what_is_there(UniqueFd& output, ProgramAnswer& answer) {
  constexpr int kMostReads = 16;  // of a pipe's 64 KiB
  for (int i = 0; i < kMostReads && output; ++i) {
    pollfd ready{output.get(), POLLIN, 0};
    if (::poll(&ready, 1, 0) != 1) {
      return;
    }
    read_some(output, answer);
  }
}

ProgramAnswer::End wait_for(RunningProgram& program, const ProgramRequest& request, Clock::time_point end,
                            ProgramAnswer& answer) {
  while ((program.output && request.awaits_writers) || !has_ended(program.pid)) {
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
    if (left <= milliseconds(0)) {
      return ProgramAnswer::End::TooLate;
    }
    std::array ready{pollfd{program.output.get(), POLLIN, 0}, pollfd{request.lifeline, 0, 0}};
    const milliseconds most = !program.output ? kPollInterval : request.awaits_writers ? left : kLongPollInterval;
    (void)::poll(ready.data(), ready.size(), static_cast<int>(std::min(left, most).count()));
    if (ready[0].revents != 0) {
      read_some(program.output, answer);
    }
    if (ready[1].revents != 0) {
      return ProgramAnswer::End::Cancelled;
    }
  }
  read_what_is_there(program.output, answer);
  return ProgramAnswer::End::ByItself;
}

}  // namespace

Result<ProgramAnswer> run_program(const ProgramRequest& request) {
  auto program = TRY(start_program(request));
  ProgramAnswer answer;
  answer.end = wait_for(program, request, std::max(request.end, Clock::now() + kLeastTime), answer);
  if (answer.end == ProgramAnswer::End::TooLate && request.grace.count() > 0) {
    (void)::kill(-program.pid, SIGTERM);
    (void)wait_for(program, request, Clock::now() + request.grace, answer);
  }
  if (answer.end != ProgramAnswer::End::ByItself) {
    (void)::kill(-program.pid, SIGKILL);
    for (Timeout timeout(program.pid, kTimeToDie); !has_ended(program.pid) && timeout.left().count() > 0;) {
      (void)::poll(nullptr, 0, static_cast<int>(kPollInterval.count()));
    }
  }
  int wait_status = 0;
  (void)::waitpid(program.pid, &wait_status, WNOHANG);
  answer.status = ExitStatus::from_wait_status(wait_status);
  return answer;
}

}  // namespace muster
