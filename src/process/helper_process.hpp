#pragma once

// Processes beside the agent for work that may hang.

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

/// A copy of us that runs `work` and ends. Of our descriptors it has `kept` alone: who reads from us would
/// wait for the others as long as it hangs. It ends without a signal; waitpid(2) finds it with __WALL.
[[nodiscard]] Result<pid_t> fork_helper(const std::vector<int>& kept, const std::function<void()>& work);

/// True of a process that nothing holds: it computes, waits for a core, or has just ended.
[[nodiscard]] bool is_runnable(pid_t pid);
/// What is starved has so much more time than what hangs may have,
inline constexpr std::chrono::seconds kExtraTimeForRunnable{5};
/// and is looked at so often.
inline constexpr std::chrono::milliseconds kPollInterval{100};

/// Through a pipe, from such a process. It ends with a mark, so that one that was killed has not answered.
void send_answer(int fd, std::string answer);
/// What came until the pipe ended; empty: that is no whole answer.
[[nodiscard]] std::optional<std::string> whole_answer(std::string bytes);

/// Keeps the agent's processes for file work. A file system that answers nothing holds who asks it in a state in
/// which nothing ends it. A thread there would keep the whole agent, its descriptors and its memory; a
/// process keeps what it was given.
///
/// Without a signal at their end, waiting for "any child" does not find them: they are no part of the job, and nobody waits for one that hangs.
class HelperProcesses {
 public:
  /// `page` tells the guard of them.
  explicit HelperProcesses(GuardSharedMemory& page) : page_(page) {}
  HelperProcesses(const HelperProcesses&) = delete;
  HelperProcesses& operator=(const HelperProcesses&) = delete;
  ~HelperProcesses() { reap(); }

  [[nodiscard]] Result<pid_t> start(const std::vector<int>& kept, const std::function<void()>& work);
  /// KILLs one and forgets it: it ends when what it hangs in ends.
  void end(pid_t pid);

  /// Those that are alive, as far as we know.
  [[nodiscard]] const std::set<pid_t>& pids() const { return pids_; }

 private:
  void reap();

  GuardSharedMemory& page_;
  std::set<pid_t> pids_;
};

// What may hang, and is not worth more than a moment.

/// Does `work` in a process beside us, and waits for its answer for at most so long: a file system may hang whom it
/// likes, and then it hangs that one, which is killed and not waited for. Of our descriptors it has `kept` alone, and
/// nothing that it changes in memory is seen afterwards. Empty: it took too long. Where no process can be made the work
/// is done here.
[[nodiscard]] std::optional<std::string> ask_with_timeout(const std::function<std::string()>& work,
                                                          std::vector<int> kept, std::chrono::milliseconds most_time);

/// The same for what has no answer.
void run_with_timeout(const std::function<void()>& work, std::vector<int> kept, std::chrono::milliseconds most_time);

/// The last line of an end with an error, behind those that were kept (logs/messages.hpp). Standard error may be a file
/// that takes nothing any more.
void print_fatal(const std::string& message);

// A piece of file work with an answer.

/// Has a process of its own look at a file, or write one, since its file system may hang. One at a time: the
/// next one ends the one before.
class HelperTask {
 public:
  /// What the work returned; empty: its time was over, or its process was killed.
  using Answer = std::optional<std::string>;
  /// For what may take long, and is no failure then.
  static constexpr std::chrono::hours kNoLimit{24 * 365};
  struct Work {
    std::function<std::string()> work;  ///< nothing that it changes in memory is seen afterwards
    std::vector<int> kept;              ///< the descriptors of ours that it needs
  };

  HelperTask(boost::asio::io_context& io, HelperProcesses& helpers)
      : io_(io), helpers_(helpers), pipe_(io), timer_(io) {}
  HelperTask(const HelperTask&) = delete;
  HelperTask& operator=(const HelperTask&) = delete;
  ~HelperTask() { end_process(); }

  /// Calls `then` once, in a later turn of the loop. Where no process can be made the work is done here.
  void start(const Work& work, std::chrono::milliseconds most_time, std::function<void(Answer)> then);
  /// `then` is not called any more.
  void cancel() { end(); }
  /// It has at most so much time from now on, and some more as long as it merely gets no core.
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
  // What is over when something is cancelled is called all the same: by its number it is known.
  std::uint64_t run_ = 0;
  std::uint64_t wait_ = 0;  ///< for the timer
  std::function<void(Answer)> then_;
  std::string answer_;
  std::array<char, 4096> buffer_;  ///< not cleared: an agent has several, and most are never used
};

// Pieces of file work that must not overtake each other.

/// Does one after the other, each with its own limit from its start on.
class HelperTaskQueue {
 public:
  struct Task {
    std::function<std::string()> work;
    std::chrono::milliseconds most_time;
    std::function<void(const HelperTask::Answer&)> then;
    bool may_be_dropped = false;
  };

  HelperTaskQueue(boost::asio::io_context& io, HelperProcesses& helpers) : helper_task_(io, helpers) {}

  /// None is left.
  std::function<void()> on_empty;

  void add(Task task);
  /// The time of those that may be dropped is over: which of them have not begun are forgotten.
  void drop();

 private:
  void start_first();

  std::deque<Task> tasks_;  ///< the first one goes on
  HelperTask helper_task_;
};

}  // namespace muster
