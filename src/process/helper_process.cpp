// Runs file work in helper processes, made by a raw clone: every wrapper asks for SIGCHLD at the child's exit.
#include "process/helper_process.hpp"

#include "base/file_io.hpp"
#include "base/log.hpp"
#include "process/descendants.hpp"
#include "process/inherited.hpp"

#include <boost/asio/buffer.hpp>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <utility>

namespace muster {
namespace {

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

/// True if nothing blocks the process: it runs, waits for a CPU, or has just exited.
bool is_runnable(pid_t pid) {
  const auto process = find_process(pid);
  return process && (process->state == 'R' || process->state == 'Z');
}

bool is_helper = false;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): a fact of the process

[[noreturn]] void run_helper(const std::vector<int>& kept, const auto& work) noexcept {
  is_helper = true;
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);    // what its programs leave behind is found below it
  (void)::prctl(PR_SET_NAME, "muster-files");  // users see in a process list what hangs
  close_others(kept);
  work();
  ::_exit(0);
}

}  // namespace

bool is_helper_process() {
  return is_helper;
}

void end_orphans_of_helper() {
  if (is_helper) {  // the agent's descendants are the job
    kill_descendants(::getpid());
  }
}

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

Result<pid_t> HelperProcesses::start(const std::vector<int>& kept, const std::function<void()>& work) {
  reap();
  auto pid = TRY(fork_helper(kept, [&work] {
    (void)::setpgid(0, 0);  // a group of its own, by which its programs and what those start are ended with it
    work();
  }));
  pids_.insert(pid);
  if (!page_.add_helper(pid)) {
    end(pid);
    return Error{ErrorKind::System, "cannot make a process for files: too many of them hang"};
  }
  return pid;
}

void HelperProcesses::end(pid_t pid) {
  if (pids_.contains(pid)) {
    kill_descendants(pid);        // before they are orphans
    (void)::kill(-pid, SIGKILL);  // not reaped yet, so the pid is its own
    (void)::kill(pid, SIGKILL);   // it may have made no group yet
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
      (void)::kill(-pid, SIGKILL);  // programs that have outlived it
      page_.remove_helper(pid);
      (void)::waitpid(pid, nullptr, WNOHANG | __WALL);
    }
    return has_ended;
  });
}

std::chrono::milliseconds Timeout::left() {
  constexpr std::chrono::milliseconds kPollInterval{100};
  const auto now = Clock::now();
  if (now >= end_ && now < end_if_runnable_ && is_runnable(child_)) {  // one that hangs in a file system sleeps
    end_ = now + kPollInterval;
  }
  return std::max(std::chrono::milliseconds(0), std::chrono::ceil<std::chrono::milliseconds>(end_ - now));
}

namespace {

/// Reads until the other end is closed. Empty: timeout.
std::optional<std::string> read_to_end(int fd, Timeout timeout) {
  std::string bytes;
  std::array<char, 4096> buffer{};
  for (auto left = timeout.left(); left.count() > 0; left = timeout.left()) {
    pollfd ready{fd, POLLIN, 0};
    const ssize_t count =
        ::poll(&ready, 1, static_cast<int>(left.count())) == 1 ? ::read(fd, buffer.data(), buffer.size()) : -1;
    if (count == 0) {
      return bytes;
    }
    if (count > 0) {
      bytes.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }
  return std::nullopt;
}

// The answer arrives through a pipe, with a mark at its end that shows that it is whole. Completion is signalled by EOF
// on the pipe, not by SIGCHLD, because the guard cannot wait for signals here.

constexpr char kEndOfAnswer = '.';

void send_answer(int fd, std::string answer) {
  answer += kEndOfAnswer;
  (void)write_all(fd, answer);  // without a reader, the answer is not needed
}

/// Empty: incomplete.
HelperTask::Answer whole_answer(std::string bytes) {
  if (bytes.empty() || bytes.back() != kEndOfAnswer) {
    return std::nullopt;
  }
  bytes.pop_back();
  return bytes;
}

struct RunningTask {
  pid_t pid;
  UniqueFd answer;
};

/// Starts the task in a process that `fork` makes.
Result<RunningTask> start_task(const HelperTask::Work& work, std::vector<int> kept, const auto& fork) {
  auto pipe = TRY(make_pipe());
  kept.push_back(pipe.write.get());
  const pid_t pid = TRY(fork(kept, [&] { send_answer(pipe.write.get(), work()); }));
  return RunningTask{pid, std::move(pipe.read)};
}

}  // namespace

Result<HelperAnswer> HelperAnswer::start(const std::function<std::string()>& work, const std::vector<int>& kept) {
  auto started = TRY(start_task(work, kept, fork_helper));
  return HelperAnswer(started.pid, std::move(started.answer));
}

std::optional<std::string> HelperAnswer::take(Clock::time_point end, std::chrono::milliseconds extra_time) {
  constexpr std::chrono::milliseconds kLeastTime{2};  // time to read an answer that is there already
  const auto left = std::max(std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()), kLeastTime);
  auto answer = whole_answer(read_to_end(answer_.get(), Timeout(pid_, left, extra_time)).value_or(""));
  if (!answer) {
    // Killed, so that it changes nothing later when its file system responds again.
    (void)::kill(pid_, SIGKILL);
  }
  // The pipe was the last descriptor that it closed, so it exits now.
  (void)::waitpid(pid_, nullptr, answer ? __WALL : WNOHANG | __WALL);
  return answer;
}

HelperTask::Answer HelperTask::wait_for(const Task& task) {
  const auto end = HelperAnswer::Clock::now() + task.most_time;
  auto started = HelperAnswer::start(task.work, task.kept);
  return started ? started->take(end, kExtraTimeForRunnable) : task.work();
}

void HelperTask::start(Task task) {
  cancel();
  add(std::move(task));
}

void HelperTask::add(Task task) {
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) {
    start_first();
  }
}

void HelperTask::start_first() {
  const Task& first = tasks_.front();
  auto started = start_task(first.work, first.kept, std::bind_front(&HelperProcesses::start, &helpers_));
  if (!started) {
    timer_.start(std::chrono::seconds(0), [this, answer = first.work()] { finish(answer); });
    return;
  }
  pid_ = started->pid;
  pipe_.assign(started->answer.release());
  answer_.clear();
  shorten(first.most_time);
  read();
}

void HelperTask::drop() {
  if (is_idle()) {
    return;
  }
  const auto may_be_dropped = [](const Task& task) { return task.may_be_dropped; };
  tasks_.erase(std::remove_if(std::next(tasks_.begin()), tasks_.end(), may_be_dropped), tasks_.end());
  if (tasks_.front().may_be_dropped) {
    shorten(std::chrono::milliseconds(0));
  }
}

void HelperTask::cancel() {
  end();
  tasks_.clear();
}

void HelperTask::shorten(std::chrono::milliseconds most_time) {
  if (pid_) {
    timer_.start(most_time, [this, timeout = Timeout(*pid_, most_time)] { give_up_after(timeout); });
  }
}

void HelperTask::give_up_after(Timeout timeout) {
  if (const auto left = timeout.left(); left.count() > 0) {
    timer_.start(left, [this, timeout] { give_up_after(timeout); });
  } else {
    finish(std::nullopt);
  }
}

void HelperTask::read() {
  const auto on_readable = [this](const boost::system::error_code& /*error*/) {
    std::array<char, 4096> buffer;  // no member: an agent has several tasks, and most never run
    boost::system::error_code error;
    const std::size_t count = pipe_.read_some(boost::asio::buffer(buffer), error);
    answer_.append(buffer.data(), count);
    if (error) {
      finish(whole_answer(std::move(answer_)));
    } else {
      read();
    }
  };
  pipe_.async_wait(boost::asio::posix::stream_descriptor::wait_read, scope_.wrap(on_readable));
}

/// The next task starts before `then`, which may destroy this.
void HelperTask::finish(Answer answer) {
  end();
  const auto then = std::move(tasks_.front().then);
  tasks_.pop_front();
  if (!is_idle()) {
    start_first();
  }
  then(std::move(answer));
}

void HelperTask::end() {
  scope_.end();
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

void print_fatal(const std::string& message) {
  constexpr std::chrono::milliseconds kTimeout{200};
  const auto print_all = [&] {
    flush_log();
    log_error(message);
    return std::string();
  };
  if (kind_of_stream(STDERR_FILENO) == StreamKind::File) {
    (void)HelperTask::wait_for({.work = print_all, .most_time = kTimeout, .kept = {STDERR_FILENO}});
  } else {
    (void)print_all();  // the log does not wait for slow readers
  }
}

}  // namespace muster
