#pragma once

// Helper processes, for file system calls of the agent that may hang.

#include "base/file_io.hpp"
#include "base/result.hpp"
#include "guard/agent_watchdog.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// Forks a copy of us that runs `work` and exits. It keeps only the descriptors `kept`: while it hangs, any other
/// would keep readers from seeing the end of our output. It exits without a signal; waitpid(2) needs __WALL to find
/// it.
[[nodiscard]] Result<pid_t> fork_helper(const std::vector<int>& kept, const std::function<void()>& work);

/// True if nothing blocks the process: it runs, waits for a CPU, or has just exited.
[[nodiscard]] bool is_runnable(pid_t pid);
/// A runnable process gets this much time beyond its timeout,
inline constexpr std::chrono::seconds kExtraTimeForRunnable{5};
/// and is polled at this interval.
inline constexpr std::chrono::milliseconds kPollInterval{100};

/// Sends an answer from a helper process through a pipe. A mark at its end shows that it is whole.
void send_answer(int fd, std::string answer);
/// The answer read until the end of the pipe; empty: incomplete.
[[nodiscard]] std::optional<std::string> whole_answer(std::string bytes);

/// Owns the agent's helper processes. A file system that does not respond puts its caller into a state that no signal
/// ends. A hanging thread would keep the whole agent with its descriptors and memory; a process keeps only what it
/// was given. Because they exit without a signal, waiting for "any child" does not find them: they are not part of the
/// job, and nothing waits for one that hangs.
class HelperProcesses {
 public:
  /// `page` tells the guard their pids.
  explicit HelperProcesses(GuardSharedMemory& page) : page_(page) {}
  HelperProcesses(const HelperProcesses&) = delete;
  HelperProcesses& operator=(const HelperProcesses&) = delete;
  ~HelperProcesses() { reap(); }

  [[nodiscard]] Result<pid_t> start(const std::vector<int>& kept, const std::function<void()>& work);
  /// Sends SIGKILL and forgets the process, which ends when the call that it hangs in returns.
  void end(pid_t pid);

  /// Helper processes that are not known to have ended.
  [[nodiscard]] const std::set<pid_t>& pids() const { return pids_; }

 private:
  void reap();

  GuardSharedMemory& page_;
  std::set<pid_t> pids_;
};

// Calls with a timeout that block the caller.

/// Runs `work` in a helper process and returns its answer; empty: not within `most_time`, because the file system may
/// hang. The process is then killed and not waited for. It has only the descriptors `kept`, and its changes to memory
/// are lost. Runs `work` here if no process can be made.
[[nodiscard]] std::optional<std::string> ask_with_timeout(const std::function<std::string()>& work,
                                                          std::vector<int> kept, std::chrono::milliseconds most_time);

/// Runs work without an answer in the same way.
void run_with_timeout(const std::function<void()>& work, std::vector<int> kept, std::chrono::milliseconds most_time);

/// Prints the last line before an exit with an error, after buffered log lines (logs/messages.hpp). Gives up if
/// standard error is a file that accepts nothing.
void print_fatal(const std::string& message);

// Calls with a timeout in the event loop.

/// Runs file work in a helper process, because its file system may hang. A new task ends the one before.
class HelperTask {
 public:
  /// The result of the work; empty: timeout, or the process was killed.
  using Answer = std::optional<std::string>;
  /// For work that may take long without being a failure.
  static constexpr std::chrono::hours kNoLimit{24 * 365};
  struct Work {
    std::function<std::string()> work;  ///< its changes to memory are lost
    std::vector<int> kept;              ///< descriptors that it keeps
  };

  HelperTask(boost::asio::io_context& io, HelperProcesses& helpers)
      : io_(io), helpers_(helpers), pipe_(io), timer_(io) {}
  HelperTask(const HelperTask&) = delete;
  HelperTask& operator=(const HelperTask&) = delete;
  ~HelperTask() { end_process(); }

  /// Calls `then` once, in a later turn of the loop. Runs the work here if no process can be made.
  void start(const Work& work, std::chrono::milliseconds most_time, std::function<void(Answer)> then);
  /// After this, `then` is not called.
  void cancel() { end(); }
  /// Limits the time from now on, plus `kExtraTimeForRunnable` while the process is runnable.
  void shorten(std::chrono::milliseconds most_time);

 private:
  [[nodiscard]] Result<> start_helper(const Work& work);
  void give_up_after(std::chrono::milliseconds time);
  void read();
  void finish(Answer answer);
  void end();
  void end_process();

  boost::asio::io_context& io_;
  HelperProcesses& helpers_;
  boost::asio::posix::stream_descriptor pipe_;
  boost::asio::steady_timer timer_;
  std::optional<pid_t> pid_;
  std::chrono::steady_clock::time_point runnable_until_;
  // Asio still calls handlers that completed before `cancel()`. The counters tell stale calls from current ones.
  std::uint64_t run_ = 0;
  std::uint64_t wait_ = 0;  ///< of the timer
  std::function<void(Answer)> then_;
  std::string answer_;
  std::array<char, 4096> buffer_;  ///< not cleared: an agent has several of these, and most are never used
};

// File work in a fixed order.

/// Runs tasks one after the other, each with its own timeout from its start.
class HelperTaskQueue {
 public:
  struct Task {
    std::function<std::string()> work;
    std::chrono::milliseconds most_time;
    std::function<void(const HelperTask::Answer&)> then;
    bool may_be_dropped = false;
  };

  HelperTaskQueue(boost::asio::io_context& io, HelperProcesses& helpers) : helper_task_(io, helpers) {}

  /// Called when no task is left.
  std::function<void()> on_empty;

  void add(Task task);
  /// Forgets the tasks that may be dropped, and ends the running one if it may be.
  void drop();

 private:
  void start_first();

  std::deque<Task> tasks_;  ///< the first one runs
  HelperTask helper_task_;
};

}  // namespace muster
