// The end of the process closes a pipe: nobody who asks waits for a signal, and the guard could not.
#include "process/asides.hpp"

#include "base/unique_fd.hpp"
#include "base/log.hpp"
#include "process/briefly.hpp"
#include "process/inherited.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <utility>

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

/// When to stop waiting for a process, which gets more time as long as nothing but other processes hold it up.
class Timeout {
 public:
  Timeout(pid_t child, std::chrono::milliseconds most_time)
      : child_(child),
        end_(Clock::now() + most_time),
        end_of_starved_(end_ + kExtraTimeForRunnable) {}

  /// In milliseconds; 0: none is left.
  [[nodiscard]] int left() {
    const auto now = Clock::now();
    if (now >= end_ && now < end_of_starved_ && is_runnable(child_)) {
      end_ = now + kPollInterval;
    }
    return static_cast<int>(std::max<std::int64_t>(
        0, std::chrono::ceil<std::chrono::milliseconds>(end_ - now).count()));
  }

 private:
  pid_t child_;
  Clock::time_point end_;
  Clock::time_point end_of_starved_;
};

/// The answer that comes until the other end is closed; empty: it is still open at the end, or it was none.
std::optional<std::string> read_answer(Timeout patience, int fd) {
  std::string read;
  std::array<char, 4096> buffer{};
  while (const int left = patience.left()) {
    pollfd ready{fd, POLLIN, 0};
    const ssize_t count =
        ::poll(&ready, 1, left) == 1 ? ::read(fd, buffer.data(), buffer.size()) : -1;
    if (count == 0) {
      return whole_answer(std::move(read));
    }
    if (count > 0) {
      read.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> ask_with_timeout(const std::function<std::string()>& work,
                                            std::vector<int> kept,
                                            std::chrono::milliseconds most_time) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return work();  // it has to be done here
  }
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  kept.push_back(write_end.get());
  const auto child = fork_helper(kept, [&] { send_answer(write_end.get(), work()); });
  if (!child) {
    return work();
  }
  write_end.reset();
  auto answer = read_answer(Timeout(*child, most_time), read_end.get());
  if (!answer) {
    // What comes later must not meet what it does when its files answer again.
    (void)::kill(*child, SIGKILL);
  }
  // The pipe of one that has answered was the last that it closed.
  (void)::waitpid(*child, nullptr, answer ? __WALL : WNOHANG | __WALL);
  return answer;
}

void run_with_timeout(const std::function<void()>& work,
                      std::vector<int> kept,
                      std::chrono::milliseconds most_time) {
  const auto without_answer = [&] {
    work();
    return std::string();
  };
  (void)ask_with_timeout(without_answer, std::move(kept), most_time);
}

void print_fatal(const std::string& message) {
  constexpr std::chrono::milliseconds kPatience{200};
  const auto print_all = [&] {
    flush_log();
    log_error(message);
  };
  if (kind_of_stream(STDERR_FILENO) == StreamKind::File) {
    run_with_timeout(print_all, {STDERR_FILENO}, kPatience);
  } else {
    print_all();  // which waits for no slow reader
  }
}

}  // namespace muster
