// Runs a program to its end by Boost.Process. docs/decisions/0008 says why no other program is started by it.

// Boost.Filesystem is not linked. With a pidfd, which Linux 4.18 lacks, the library would throw and leave the program
// running.
#define BOOST_PROCESS_USE_STD_FS
#define BOOST_PROCESS_V2_DISABLE_PIDFD_OPEN

#include "process/probe.hpp"

#include "process/helper_process.hpp"
#include "process/spawn.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/optional.hpp>  // which Boost.Process 1.81 needs and does not include
#include <boost/process/v2/process.hpp>
#include <boost/type_traits.hpp>  // likewise

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>

namespace muster {
namespace {

namespace process = boost::process::v2;
using ErrorCode = boost::system::error_code;

constexpr std::chrono::seconds kMostTime{5};
constexpr std::chrono::seconds kNoExtraTime{0};  ///< even for a program that computes
constexpr std::size_t kMostText = 400;

/// Prepares the child between fork and exec.
struct ProbeSetup {
  const Inherited& inherited;
  int output;  ///< also its standard input: it reads nothing

  template <class Launcher>
  ErrorCode on_exec_setup(Launcher& /*launcher*/, const std::filesystem::path& /*path*/, const char* const*& /*argv*/) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::setpgid(0, 0) != 0 || ::dup2(output, STDIN_FILENO) < 0 || ::dup2(output, STDOUT_FILENO) < 0 ||
        ::dup2(output, STDERR_FILENO) < 0 ||
        (inherited.descriptors && ::setrlimit(RLIMIT_NOFILE, &*inherited.descriptors) != 0)) {
      return {errno, boost::system::system_category()};
    }
    restore_ignored_signals(inherited);
    release_signals(inherited);
    return {};
  }

  /// The library would call exit(3), which writes what we have buffered a second time.
  template <class... Arguments>
  void on_exec_error(Arguments&&... /*arguments*/) {
    ::_exit(127);
  }
};

}  // namespace

Result<ProgramAnswer> probe_program(const std::vector<std::string>& command, const Inherited& inherited,
                                    const std::map<std::string, std::string>& variables) {
  auto pipe = TRY(make_pipe());
  const std::vector<std::string> entries = environment_entries(variables);
  const std::vector<char*> environment = pointers(entries);
  process::posix::default_launcher launcher;
  launcher.env = environment.data();
  boost::asio::io_context io;
  ErrorCode error;
  auto program =
      launcher(io.get_executor(), error, std::filesystem::path(command.front()),
               std::vector<std::string>(command.begin() + 1, command.end()), ProbeSetup{inherited, pipe.write.get()});
  pipe.write.reset();
  if (error) {
    if (launcher.pid > 0) {
      ::waitpid(launcher.pid, nullptr, 0);  // the library leaves it a zombie
    }
    return Error{ErrorKind::NotExecutable, system_error("cannot run '" + command.front() + "'", error.value()).message};
  }
  const auto said = read_to_end(pipe.read.get(), Timeout(program.id(), kMostTime, kNoExtraTime));
  if (!said) {  // the destructor kills it
    return Error{ErrorKind::System,
                 "'" + command.front() + "' has not answered within " + std::to_string(kMostTime.count()) + " s"};
  }
  return ProgramAnswer{program.wait(error) == 0, said->substr(0, std::min(said->find('\n'), kMostText))};
}

}  // namespace muster
