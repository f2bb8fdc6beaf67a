// Runs a program to its end, and reads what it says.
#include "process/ask_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>

namespace muster {
namespace {

constexpr std::chrono::seconds kMostTime{5};
constexpr std::size_t kMostText = 400;

/// What a program has said until it closed its output; empty: it has not within the time.
std::optional<std::string> read_to_end(int fd) {
  const auto end = std::chrono::steady_clock::now() + kMostTime;
  std::string text;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd wanted{fd, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&wanted, 1, static_cast<int>(left.count())) == 0) {
      return std::nullopt;
    }
    std::array<char, 1024> buffer{};
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size <= 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

/// The first line.
std::string first_line(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), kMostText));
}

/// Waits for its end. True: it has ended with 0.
bool has_succeeded(pid_t pid) {
  int status = 0;
  pid_t ended = -1;
  do {
    ended = ::waitpid(pid, &status, 0);
  } while (ended == -1 && errno == EINTR);
  return ended == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

SpawnRequest request_of(const SidecarRequest& asked,
                        std::map<std::string, std::string> variables,
                        int input,
                        int output) {
  for (const auto& [name, value] : asked.environment) {
    variables[name] = value;
  }
  SpawnRequest request;
  request.executable = asked.executable;
  request.argv = asked.argv;
  request.environment.reserve(variables.size());
  for (const auto& [name, value] : variables) {
    request.environment.push_back(environment_entry(name, value));
  }
  request.standard_input = input;
  request.standard_output = output;
  request.standard_error = output;
  return request;
}

Result<ProgramAnswer> probe_program(const SidecarRequest& request,
                                    const Inherited& inherited,
                                    const std::map<std::string, std::string>& variables) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return system_error("cannot make a pipe", errno);
  }
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const int both = theirs.get();  // it reads nothing
  const auto spawned = Spawner(inherited).spawn(request_of(request, variables, both, both));
  if (!spawned) {
    return spawned.error();
  }
  theirs.reset();
  const auto said = read_to_end(ours.get());
  if (!said) {
    ::kill(spawned->pid, SIGKILL);
  }
  const bool is_success = has_succeeded(spawned->pid);
  if (!said) {
    return Error{ErrorKind::System,
                 "'" + request.executable + "' has not answered within " +
                     std::to_string(kMostTime.count()) + " s"};
  }
  return ProgramAnswer{is_success, first_line(*said)};
}

}  // namespace muster
