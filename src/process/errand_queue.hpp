#pragma once

// Pieces of file work that must not overtake each other. Private to run/.

#include "process/errand.hpp"

#include <chrono>
#include <deque>
#include <functional>

namespace muster {

/// Does one after the other, each with its own limit from its start on.
class HelperTaskQueue {
 public:
  struct Task {
    std::function<std::string()> work;
    std::chrono::milliseconds most_time;
    std::function<void(const HelperTask::Answer&)> then;
    bool may_be_dropped = false;
  };

  HelperTaskQueue(boost::asio::io_context& io, HelperProcesses& helpers) : errand_(io, helpers) {}

  /// None is left.
  std::function<void()> on_empty;

  void add(Task task);
  /// The time of those that may be dropped is over: which of them have not begun are forgotten.
  void drop();

 private:
  void start_first();

  std::deque<Task> tasks_;  ///< the first one goes on
  HelperTask errand_;
};

}  // namespace muster
