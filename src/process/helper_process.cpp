// Runs file work in helper processes, made by a raw clone: every wrapper asks for SIGCHLD at the child's exit.
#include "process/helper_process.hpp"

#include "base/log.hpp"
#include "process/descendants.hpp"
#include "process/inherited.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <utility>

namespace muster {
namespace {

constexpr char kEndOfAnswer = '.';

/// Closes descriptors from `first` to `last`; without the system call, up to the usual number.
void close_range(unsigned first, unsigned last) {
  constexpr unsigned kHighest = 4096;
  if (::syscall(SYS_close_range, first, last, 0) == 0) {
    return;
  }
  for (unsigned fd = first; fd <= std::min(last, kHighest); ++fd) {
    (void)::close(static_cast<int>(fd));
  }
}

/// Opens /dev/null at unwanted standard streams, so that no file gets one of their numbers.
void put_null_at(const std::set<int>& wanted) {
  const UniqueFd null = open_null(NullFor::Writing);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (!wanted.contains(standard)) {
      (void)::dup2(null.get(), standard);
    }
  }
}

/// Closes all others, because a pipe left open here would never end for its reader.
void close_others(const std::vector<int>& kept) {
  std::set<int> wanted(kept.begin(), kept.end());
  put_null_at(wanted);
  wanted.insert({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
  unsigned next = 0;
  for (const int fd : wanted) {
    if (const auto kept_one = static_cast<unsigned>(fd); kept_one > next) {
      close_range(next, kept_one - 1);
    }
    next = static_cast<unsigned>(fd) + 1;
  }
  close_range(next, ~0U);
}

[[noreturn]] void run_helper(const std::vector<int>& kept, const std::function<void()>& work) noexcept {
  (void)::prctl(PR_SET_NAME, "muster-files");  // users see in a process list what hangs
  close_others(kept);
  work();
  ::_exit(0);
}

}  // namespace

Result<pid_t> fork_helper(const std::vector<int>& kept, const std::function<void()>& work) {
  // Like fork(2), but without a signal at the exit. Every argument is 0, so their order, which differs between
  // machines, does not matter. The one other thread that may run looks up names and allocates from its own memory: no
  // lock that `work` needs is held.
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone, 0, 0, 0, 0, 0));
  if (pid < 0) {
    return system_error("cannot make a process for files", errno);
  }
  if (pid == 0) {
    run_helper(kept, work);
  }
  return pid;
}

bool is_runnable(pid_t pid) {
  const auto process = find_process(pid);
  return process && (process->state == 'R' || process->state == 'Z');
}

void send_answer(int fd, std::string answer) {
  answer += kEndOfAnswer;
  (void)write_all(fd, answer);  // without a reader, the answer is not needed
}

std::optional<std::string> whole_answer(std::string bytes) {
  if (bytes.empty() || bytes.back() != kEndOfAnswer) {
    return std::nullopt;
  }
  bytes.pop_back();
  return bytes;
}

Result<pid_t> HelperProcesses::start(const std::vector<int>& kept, const std::function<void()>& work) {
  reap();
  auto pid = TRY(fork_helper(kept, work));
  pids_.insert(pid);
  if (!page_.add_helper(pid)) {
    end(pid);
    return Error{ErrorKind::System, "cannot make a process for files: too many of them hang"};
  }
  return pid;
}

void HelperProcesses::end(pid_t pid) {
  if (pids_.contains(pid)) {
    (void)::kill(pid, SIGKILL);  // not reaped yet, so the pid is its own
    reap();
  }
}

/// Leaves helpers that hang to a later call. Removes the pid from the page before reaping, so that the guard does not
/// take a reused one for a helper.
void HelperProcesses::reap() {
  std::erase_if(pids_, [this](pid_t pid) {
    siginfo_t info{};
    const int found = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT | __WALL);
    const bool has_ended = found != 0 || info.si_pid == pid;
    if (has_ended) {
      page_.remove_in_helper(pid);
      (void)::waitpid(pid, nullptr, WNOHANG | __WALL);
    }
    return has_ended;
  });
}

// Completion is signalled by EOF on a pipe, not by SIGCHLD, because the guard cannot wait for signals here.

namespace {

using Clock = std::chrono::steady_clock;

/// The deadline for a process, extended while it is runnable but waits for a CPU.
class Timeout {
 public:
  Timeout(pid_t child, std::chrono::milliseconds most_time)
      : child_(child), end_(Clock::now() + most_time), end_if_runnable_(end_ + kExtraTimeForRunnable) {}

  /// In milliseconds; 0: over.
  [[nodiscard]] int left() {
    const auto now = Clock::now();
    if (now >= end_ && now < end_if_runnable_ && is_runnable(child_)) {
      end_ = now + kPollInterval;
    }
    return static_cast<int>(
        std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(end_ - now).count()));
  }

 private:
  pid_t child_;
  Clock::time_point end_;
  Clock::time_point end_if_runnable_;
};

/// Reads the answer until the other end is closed; empty: timeout, or incomplete.
std::optional<std::string> read_answer(Timeout timeout, int fd) {
  std::string read;
  std::array<char, 4096> buffer{};
  while (const int left = timeout.left()) {
    pollfd ready{fd, POLLIN, 0};
    const ssize_t count = ::poll(&ready, 1, left) == 1 ? ::read(fd, buffer.data(), buffer.size()) : -1;
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

std::optional<std::string> ask_with_timeout(const std::function<std::string()>& work, std::vector<int> kept,
                                            std::chrono::milliseconds most_time) {
  auto pipe = make_pipe();
  if (!pipe) {
    return work();  // no pipe: run it here
  }
  kept.push_back(pipe->write.get());
  const auto child = fork_helper(kept, [&] { send_answer(pipe->write.get(), work()); });
  if (!child) {
    return work();
  }
  pipe->write.reset();
  auto answer = read_answer(Timeout(*child, most_time), pipe->read.get());
  if (!answer) {
    // Killed, so that it changes nothing later when its file system responds again.
    (void)::kill(*child, SIGKILL);
  }
  // The pipe was the last descriptor that it closed, so it exits now.
  (void)::waitpid(*child, nullptr, answer ? __WALL : WNOHANG | __WALL);
  return answer;
}

void run_with_timeout(const std::function<void()>& work, std::vector<int> kept, std::chrono::milliseconds most_time) {
  const auto without_answer = [&] {
    work();
    return std::string();
  };
  (void)ask_with_timeout(without_answer, std::move(kept), most_time);
}

void print_fatal(const std::string& message) {
  constexpr std::chrono::milliseconds kTimeout{200};
  const auto print_all = [&] {
    flush_log();
    log_error(message);
  };
  if (kind_of_stream(STDERR_FILENO) == StreamKind::File) {
    run_with_timeout(print_all, {STDERR_FILENO}, kTimeout);
  } else {
    print_all();  // the log does not wait for slow readers
  }
}

// The answer arrives through a pipe, and is complete at its end.

void HelperTask::start(const Work& work, std::chrono::milliseconds most_time, std::function<void(Answer)> then) {
  end();
  then_ = std::move(then);
  if (!start_helper(work)) {
    boost::asio::post(io_, [answer = work.work(), called = std::exchange(then_, {})] { called(answer); });
    return;
  }
  shorten(most_time);
  read();
}

Result<> HelperTask::start_helper(const Work& work) {
  auto pipe = TRY(make_pipe());
  std::vector<int> kept = work.kept;
  kept.push_back(pipe.write.get());
  pid_ = TRY(helpers_.start(kept, [&work, fd = pipe.write.get()] { send_answer(fd, work.work()); }));
  answer_.clear();
  pipe_.assign(pipe.read.release());
  return {};
}

void HelperTask::shorten(std::chrono::milliseconds most_time) {
  if (!then_) {
    return;
  }
  runnable_until_ = std::chrono::steady_clock::now() + most_time + kExtraTimeForRunnable;
  give_up_after(most_time);
}

void HelperTask::give_up_after(std::chrono::milliseconds time) {
  timer_.expires_after(time);
  timer_.async_wait([this, number = ++wait_](const boost::system::error_code& error) {
    if (error || number != wait_) {  // the timer may have expired just before it was cancelled
      return;
    }
    // A process that hangs in a file system sleeps.
    if (std::chrono::steady_clock::now() < runnable_until_ && is_runnable(*pid_)) {
      give_up_after(kPollInterval);
    } else {
      finish(std::nullopt);
    }
  });
}

void HelperTask::read() {
  pipe_.async_read_some(boost::asio::buffer(buffer_),
                        [this, number = run_](const boost::system::error_code& error, std::size_t count) {
                          if (error == boost::asio::error::operation_aborted || number != run_) {
                            return;
                          }
                          answer_.append(buffer_.data(), count);
                          if (error) {
                            finish(whole_answer(std::move(answer_)));
                          } else {
                            read();
                          }
                        });
}

void HelperTask::finish(Answer answer) {
  const auto called = std::exchange(then_, {});
  end();
  if (called) {
    called(std::move(answer));
  }
}

void HelperTask::end() {
  then_ = {};
  ++run_;
  ++wait_;
  timer_.cancel();
  boost::system::error_code ignored;  // nothing is written to it, so close cannot lose data
  pipe_.close(ignored);
  end_process();
}

/// A process that hangs stays until its call returns.
void HelperTask::end_process() {
  if (pid_) {
    helpers_.end(*std::exchange(pid_, std::nullopt));
  }
}

// The next task starts when the one before has answered or timed out.

void HelperTaskQueue::add(Task task) {
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) {
    start_first();
  }
}

void HelperTaskQueue::drop() {
  if (tasks_.empty()) {
    return;
  }
  const auto is_kept = [](const Task& task) { return !task.may_be_dropped; };
  tasks_.erase(std::stable_partition(std::next(tasks_.begin()), tasks_.end(), is_kept), tasks_.end());
  if (tasks_.front().may_be_dropped) {
    helper_task_.shorten(std::chrono::milliseconds(0));
  }
}

void HelperTaskQueue::start_first() {
  const Task& first = tasks_.front();
  helper_task_.start({first.work, {}}, first.most_time, [this](const HelperTask::Answer& answer) {
    const auto then = std::move(tasks_.front().then);
    tasks_.pop_front();
    if (!tasks_.empty()) {
      start_first();
    }
    then(answer);
    if (tasks_.empty()) {
      on_empty();
    }
  });
}

}  // namespace muster
