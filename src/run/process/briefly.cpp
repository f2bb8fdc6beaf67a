// The end of the process closes a pipe: nobody who asks waits for a signal, and the guard could not.
#include "asides.hpp"

#include <muster/base/unique_fd.hpp>
#include <muster/logs/messages.hpp>
#include <muster/run/briefly.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

/// The answer that comes until the other end is closed; empty: it is still open at `end`, or it was none.
std::optional<std::string> read_until(Clock::time_point end, int fd) {
  std::string read;
  std::array<char, 4096> buffer{};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd ready{fd, POLLIN, 0};
    const int found = left <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left));
    if (found < 0 && errno == EINTR) {
      continue;
    }
    if (found != 1) {
      return std::nullopt;
    }
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count == 0) {
      return whole_answer(std::move(read));
    }
    if (count > 0) {
      read.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }
}

}  // namespace

std::optional<std::string> ask_briefly(const std::function<std::string()>& work,
                                       std::vector<int> kept,
                                       std::chrono::milliseconds most_time) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return work();  // it has to be done here
  }
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  kept.push_back(write_end.get());
  const auto child = make_aside(kept, [&] { send_answer(write_end.get(), work()); });
  if (!child) {
    return work();
  }
  write_end.reset();
  auto answer = read_until(Clock::now() + most_time, read_end.get());
  if (!answer) {
    (void)::kill(
        *child,
        SIGKILL);  // what comes later must not meet what it does when its files answer again
  }
  (void)::waitpid(
      *child, nullptr, answer ? __WALL : WNOHANG | __WALL);  // its pipe was the last that it closed
  return answer;
}

void do_briefly(const std::function<void()>& work,
                std::vector<int> kept,
                std::chrono::milliseconds most_time) {
  const auto without_answer = [&] {
    work();
    return std::string();
  };
  (void)ask_briefly(without_answer, std::move(kept), most_time);
}

void say_last(const std::string& message) {
  constexpr std::chrono::milliseconds kPatience{200};
  const auto say_all = [&] {
    release_messages();
    say_error(message);
  };
  do_briefly(say_all, {STDERR_FILENO}, kPatience);
}

}  // namespace muster
