#pragma once

// The list of work that keeps the agent running, and the work on services' files among it.

#include "process/helper_process.hpp"
#include "process/timers.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace muster {

/// Named reasons to keep running, such as "attempt 0" or "goodbye of node 3". The agent's loop runs while there is
/// one. A name is listed once, however often it is added.
class PendingWork {
 public:
  /// `in_detail` lists what is pending now, such as "goodbye of node 4"; an empty list: the name itself.
  void add(const std::string& name, std::function<std::vector<std::string>()> in_detail = {});
  /// Does nothing for an unknown name.
  void remove(const std::string& name);
  /// Drops all reasons and takes no new ones, after a second stop signal.
  void exit_early();

  [[nodiscard]] bool is_empty() const { return reasons_.empty(); }
  /// "attempt 0, goodbye of node 3", in the order of `add`.
  [[nodiscard]] std::string describe() const;

 private:
  struct Reason {
    std::string name;
    std::function<std::vector<std::string>()> in_detail;
  };
  std::vector<Reason> reasons_;
  bool is_leaving_ = false;
};

// Work on the files of services, which the end waits for.

/// Writes files in helper processes, one after the other, because the file system may hang.
class ServiceFiles {
 public:
  using Work = std::function<std::string()>;

  /// `most_time`: for each write. The list outlives this.
  ServiceFiles(boost::asio::io_context& io, HelperProcesses& helpers, PendingWork& pending,
               std::chrono::milliseconds most_time);

  /// Calls `then` in a later turn of the loop. Logs that it waits for `what` if the work takes long.
  void write(std::string what, Work work, std::function<void(HelperTask::Answer)> then);
  /// Cancels the running `write` and the queued ones. The end waits for `work`, for a moment.
  void remove(Work work);

 private:
  void add(HelperTask::Task task);

  PendingWork& pending_;
  std::chrono::milliseconds most_time_;
  HelperTask task_;
  std::string what_;  ///< the file being written, for messages
  DelayedCall slow_timer_;
};

}  // namespace muster
