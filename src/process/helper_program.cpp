// The helper process may be killed at any time: the kernel kills the program with it.
#include "process/helper_program.hpp"

#include "process/descendants.hpp"
#include "process/helper_process.hpp"
#include "process/spawn.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace muster {
namespace {

const std::vector<std::string> kPlainVariables{"PATH=/usr/local/bin:/usr/bin:/bin"};

/// A program with the rights of another gets neither our variables nor our folder, which may be secret.
[[noreturn]] void run_program(const std::vector<std::string>& command, const std::optional<Rights>& rights, int output,
                              pid_t parent) {
  const std::vector<char*> arguments = pointers(command);
  const std::vector<char*> variables = pointers(kPlainVariables);
  const bool has_rights = !rights || (::chdir("/") == 0 && take_rights(*rights));
  (void)::setsid();  // no terminal: whoever has one can type into the shell that reads it (TIOCSTI)
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);  // after the rights, with which the kernel takes it away
  if (has_rights && ::getppid() == parent && ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(output, STDERR_FILENO) >= 0) {
    (void)(rights ? ::execve(arguments.front(), arguments.data(), variables.data())
                  : ::execv(arguments.front(), arguments.data()));
  }
  ::_exit(127);
}

}  // namespace

Result<HelperProgram> HelperProgram::start(const std::vector<std::string>& command,
                                           const std::optional<Rights>& rights) {
  auto pipe = TRY(make_pipe());
  const pid_t pid = TRY(fork_helper(
      {pipe.write.get()}, [&, parent = ::getpid()] { run_program(command, rights, pipe.write.get(), parent); }));
  return HelperProgram(pid, std::move(pipe.read));
}

std::optional<std::string> HelperProgram::finish(Clock::time_point end) {
  constexpr std::size_t kMostOutput = std::size_t{4} << 20U;
  constexpr std::chrono::milliseconds kLeastTime{2};  // for what it has said already
  constexpr std::chrono::milliseconds kNoExtraTime{0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
  auto said = read_to_end(said_.get(), Timeout(pid_, std::max(left, kLeastTime), kNoExtraTime), kMostOutput);
  (void)::kill(pid_, SIGKILL);
  (void)::waitpid(pid_, nullptr, said ? __WALL : WNOHANG | __WALL);
  return said;
}

void HelperProgram::end_orphans() {
  if (is_helper_process()) {  // the agent's descendants are the job
    kill_descendants(::getpid());
  }
}

}  // namespace muster
