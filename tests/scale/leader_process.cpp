// Starts the leader and reads /proc.
#include "leader_process.hpp"

#include "base/file_io.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace muster::scale {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeout{20};
constexpr std::chrono::milliseconds kPause{5};

std::string proc(pid_t pid, const std::string& file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

/// The child that runs the same program, or the program itself where it has no guard; -1: it is not
/// there yet.
pid_t agent_of(pid_t guard, bool has_guard) {
  if (!has_guard) {
    return guard;
  }
  std::error_code gone;
  const auto program = std::filesystem::read_symlink(proc(guard, "exe"), gone);
  std::ifstream children(proc(guard, "task/" + std::to_string(guard) + "/children"));
  pid_t child = -1;
  while (children >> child) {
    if (std::filesystem::read_symlink(proc(child, "exe"), gone) == program && !gone) {
      return child;
    }
  }
  return -1;
}

/// Reads a line of /proc/net/tcp.
bool is_listener(const std::string& line, const std::string& port) {
  constexpr const char* kListening = "0A";
  std::istringstream fields(line);
  std::string number;
  std::string local;
  std::string remote;
  std::string state;
  fields >> number >> local >> remote >> state;
  return state == kListening && local.ends_with(port);
}

bool is_listened_on(std::uint16_t port) {
  std::array<char, 8> end{};
  (void)std::snprintf(end.data(), end.size(), ":%04X", static_cast<unsigned>(port));
  bool is_found = false;
  for (const char* const table : {"/proc/self/net/tcp6", "/proc/self/net/tcp"}) {
    std::ifstream file(table);
    for (std::string line; !is_found && std::getline(file, line);) {
      is_found = is_listener(line, end.data());
    }
  }
  return is_found;
}

double cpu_seconds(pid_t pid) {
  constexpr double kNanoseconds = 1e9;
  double total = 0;
  for (const auto& task : std::filesystem::directory_iterator(proc(pid, "task"))) {
    double nanoseconds = 0;
    std::ifstream(task.path() / "schedstat") >> nanoseconds;
    total += nanoseconds / kNanoseconds;
  }
  return total;
}

/// A figure such as VmHWM of /proc/<pid>/status.
long kilobytes(pid_t pid, const char* file, const std::string& wanted) {
  std::ifstream lines(proc(pid, file));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    long figure = 0;
    if (fields >> name >> figure && name == wanted) {
      return figure;
    }
  }
  return 0;
}

/// Its standard output goes where errors go: ours is for the figures.
pid_t spawn(std::vector<std::string> command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& word : command) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, arguments.front(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw std::runtime_error("cannot start '" + command.front() + "'");
  }
  return pid;
}

}  // namespace

LeaderProcess::LeaderProcess(std::vector<std::string> command, std::uint16_t port, bool has_guard)
    : has_guard_(has_guard), guard_(spawn(std::move(command))) {
  wait_until_it_listens(port);
}

LeaderProcess::~LeaderProcess() {
  if (guard_ > 0) {
    ::kill(guard_, SIGKILL);  // its agent ends all that is left
    ::waitpid(guard_, nullptr, 0);
  }
}

void LeaderProcess::wait_until_it_listens(std::uint16_t port) {
  const auto deadline = Clock::now() + kTimeout;
  while (agent_ < 0 || !is_listened_on(port)) {
    if (Clock::now() > deadline || ::waitpid(guard_, nullptr, WNOHANG) != 0) {
      throw std::runtime_error("the leader does not listen on port " + std::to_string(port));
    }
    std::this_thread::sleep_for(kPause);
    agent_ = agent_of(guard_, has_guard_);
  }
}

Costs LeaderProcess::costs() const {
  Costs costs;
  for (const pid_t pid : has_guard_ ? std::vector{guard_, agent_} : std::vector{agent_}) {
    costs.cpu_seconds += cpu_seconds(pid);
    costs.rss_kilobytes += kilobytes(pid, "smaps_rollup", "Rss:");
    costs.pss_kilobytes += kilobytes(pid, "smaps_rollup", "Pss:");
    costs.peak_rss_kilobytes += kilobytes(pid, "status", "VmHWM:");
  }
  return costs;
}

int LeaderProcess::wait() {
  constexpr int kSignalBase = 128;
  int status = 0;
  if (::waitpid(guard_, &status, 0) != guard_) {
    throw std::runtime_error("cannot wait for the leader");
  }
  guard_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
}

double own_cpu_seconds() {
  rusage usage{};
  (void)::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    constexpr double kMicroseconds = 1e6;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / kMicroseconds;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double bytes_on_the_wire(std::uint16_t port) {
  double total = 0;
  const int end = ::getdtablesize();
  for (int fd = 0; fd < end; ++fd) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    auto* const address = reinterpret_cast<sockaddr*>(&peer);  // NOLINT: the socket API
    const bool is_link = ::getpeername(fd, address, &size) == 0 && peer.sin_port == htons(port);
    tcp_info info{};
    socklen_t info_size = sizeof info;
    if (is_link && ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_size) == 0) {
      total += static_cast<double>(info.tcpi_bytes_acked) + static_cast<double>(info.tcpi_bytes_received);
    }
  }
  return total;
}

std::uint16_t free_port() {
  constexpr std::uint16_t kFirst = 20'000;
  constexpr std::uint16_t kCount = 12'000;
  const auto begin = static_cast<std::uint16_t>(::getpid() % kCount);
  for (std::uint16_t i = 0; i < kCount; ++i) {
    const auto port = static_cast<std::uint16_t>(kFirst + (begin + i) % kCount);
    const UniqueFd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(port);
    if (::bind(probe.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0) {  // NOLINT
      return port;
    }
  }
  throw std::runtime_error("there is no free port");
}

}  // namespace muster::scale
