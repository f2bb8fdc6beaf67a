// The helper process waits for the command itself: the agent reaps all of its own children.
#include "process/limited_command.hpp"

#include "base/file_io.hpp"
#include "process/spawn.hpp"
#include "supervise/exit_status.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = std::size_t{1} << 20U;

struct RunningCommand {
  pid_t pid = -1;
  UniqueFd output;  ///< empty: nobody writes any more
  std::string said{};
};

Result<RunningCommand> start(const ShellCommand& command, const Inherited& inherited) {
  auto output = TRY(make_pipe());
  const UniqueFd null = open_null(NullFor::Reading);
  SpawnRequest request;
  request.executable = "/bin/sh";
  request.argv = {"sh", "-c", command.text};
  request.environment = environment_entries(command.environment);
  request.standard_input = null.get();
  request.standard_output = output.write.get();
  request.standard_error = output.write.get();
  const auto spawned = TRY(Spawner(inherited).spawn(request));
  return RunningCommand{spawned.pid, std::move(output.read)};
}

/// It is not reaped yet, so that its process group keeps its number.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

void read_some(RunningCommand& command) {
  std::array<char, 4096> buffer{};
  const ssize_t count = ::read(command.output.get(), buffer.data(), buffer.size());
  if (count <= 0) {
    command.output.reset();
  } else if (command.said.size() < kMostOutput) {
    command.said.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

enum class CommandEnd {
  ByItself,
  TooLate,
  Cancelled  ///< `lifeline` was closed
};

CommandEnd wait_for(RunningCommand& command, std::chrono::seconds time_limit, int lifeline) {
  constexpr int kPollMilliseconds = 100;  // its end is no event of a descriptor
  const auto limit = Clock::now() + time_limit;
  while (command.output || !has_ended(command.pid)) {
    std::array ready{pollfd{command.output.get(), POLLIN, 0}, pollfd{lifeline, 0, 0}};
    (void)::poll(ready.data(), ready.size(), kPollMilliseconds);
    if (ready[0].revents != 0) {
      read_some(command);
    }
    if (ready[1].revents != 0) {
      return CommandEnd::Cancelled;
    }
    if (Clock::now() >= limit) {
      return CommandEnd::TooLate;
    }
  }
  return CommandEnd::ByItself;
}

/// Kills the process group, unless the command has ended, and says what went wrong; empty: nothing.
std::string finish(const RunningCommand& command, CommandEnd end) {
  if (end != CommandEnd::ByItself) {
    (void)::kill(-command.pid, SIGKILL);
  }
  int wait_status = 0;
  (void)::waitpid(command.pid, &wait_status, 0);
  if (end == CommandEnd::TooLate) {
    return "has not ended in time, and was killed";
  }
  const ExitStatus status = ExitStatus::from_wait_status(wait_status);
  return end == CommandEnd::Cancelled || status.ok() ? ""
                                                     : "ended with " + status.describe() + ", expected exit code 0";
}

}  // namespace

CommandResult run_limited(const ShellCommand& command, const Inherited& inherited, std::chrono::seconds time_limit,
                          int lifeline) {
  auto running = start(command, inherited);
  if (!running) {
    return {"cannot be started: " + running.error().message, ""};
  }
  const CommandEnd end = wait_for(*running, time_limit, lifeline);
  const std::string problem = finish(*running, end);
  return {problem, std::move(running->said)};
}

}  // namespace muster
