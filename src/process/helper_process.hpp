#pragma once

// Helper processes, for file system calls of the agent that may hang.

#include "base/file_io.hpp"
#include "base/result.hpp"
#include "process/guard_memory.hpp"
#include "process/timer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace muster {

/// Forks a copy of us that runs `work` and exits. The copy keeps only the descriptors `kept`: any other, such as our
/// output, would stay open while the copy hangs, and its reader would see no end. The exit sends no signal, and
/// waitpid(2) needs __WALL to find the copy.
[[nodiscard]] Result<pid_t> fork_helper(const std::vector<int>& kept, const std::function<void()>& work);

/// True in the process of `fork_helper`. False where the agent does such work itself, as no process could be made.
bool is_helper_process();

/// Ends what programs of this helper process have started and left behind, also in sessions of their own. To be called
/// when none of them runs any more.
void end_orphans_of_helper();

/// A runnable process gets this much time beyond its timeout.
inline constexpr std::chrono::seconds kExtraTimeForRunnable{5};

/// The deadline of a process, extended while it is runnable: one that waits for a CPU does not hang.
class Timeout {
 public:
  using Clock = std::chrono::steady_clock;

  Timeout(pid_t child, std::chrono::milliseconds most_time,
          std::chrono::milliseconds extra_time = kExtraTimeForRunnable)
      : child_(child), end_(Clock::now() + most_time), end_if_runnable_(end_ + extra_time) {}

  /// 0: over.
  std::chrono::milliseconds left();

 private:
  pid_t child_;
  Clock::time_point end_;
  Clock::time_point end_if_runnable_;
};

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
  const std::set<pid_t>& pids() const { return pids_; }

 private:
  void reap();

  GuardSharedMemory& page_;
  std::set<pid_t> pids_;
};

/// A process that does one piece of work for a helper process; the helper process may wait for several.
class HelperAnswer {
 public:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] static Result<HelperAnswer> start(const std::function<std::string()>& work,
                                                  const std::vector<int>& kept = {});

  /// Waits for the answer until `end`, or by `extra_time` longer while the process is runnable. Then ends the process, and
  /// does not wait for one that hangs; empty: it has not answered.
  std::optional<std::string> take(Clock::time_point end, std::chrono::milliseconds extra_time);

 private:
  HelperAnswer(pid_t pid, UniqueFd answer) : pid_(pid), answer_(std::move(answer)) {}

  pid_t pid_;
  UniqueFd answer_;
};

/// Runs file work in helper processes, because its file system may hang. Does so in the event loop, one task after the
/// other, and without a loop by `wait_for`.
class HelperTask {
 public:
  /// The result of the work; empty: timeout, or the process was killed.
  using Answer = std::optional<std::string>;
  using Work = std::function<std::string()>;  ///< runs in a copy: its changes to memory are lost
  using Then = std::function<void(Answer)>;   ///< called once, in a later turn of the loop
  /// For work that may take long without being a failure.
  static constexpr std::chrono::hours kNoLimit{24 * 365};
  struct Task {
    Work work;
    std::chrono::milliseconds most_time;
    Then then = {};
    std::vector<int> kept = {};  ///< descriptors that the process keeps
    bool may_be_dropped = false;
  };

  /// Blocks the caller. A process that hangs is killed and not waited for. Runs the work here if no process can be made.
  static Answer wait_for(const Task& task);

  HelperTask(boost::asio::io_context& io, HelperProcesses& helpers) : helpers_(helpers), pipe_(io), timer_(io) {}
  HelperTask(const HelperTask&) = delete;
  HelperTask& operator=(const HelperTask&) = delete;
  ~HelperTask() { end_process(); }

  /// Ends the tasks before and runs this one. Runs the work here if no process can be made.
  void start(Task task);
  /// Runs the task after those before it; its time counts from then on.
  void add(Task task);
  /// Forgets the waiting tasks that may be dropped; if the running task may be dropped, its time ends now.
  void drop();
  /// Forgets all tasks: their `then` is not called.
  void cancel();
  /// Limits the time of the running task from now on, plus `kExtraTimeForRunnable` while its process is runnable.
  void shorten(std::chrono::milliseconds most_time);
  bool is_idle() const { return tasks_.empty(); }

 private:
  void start_first();
  void give_up_after(Timeout timeout);
  void read();
  void finish(Answer answer);
  void end();
  void end_process();

  HelperProcesses& helpers_;
  std::deque<Task> tasks_;  ///< the first one runs
  boost::asio::posix::stream_descriptor pipe_;
  Timer timer_;
  CallbackScope scope_;
  std::optional<pid_t> pid_;
  std::string answer_;
};

/// Prints the last line before an exit with an error, after buffered log lines (base/log.hpp). Gives up if
/// standard error is a file that accepts nothing.
void print_fatal(const std::string& message);

}  // namespace muster
