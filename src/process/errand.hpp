#pragma once

// A piece of file work with an answer. Private to run/.

#include "process/asides.hpp"

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace muster {

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
  void start(const Work& work,
             std::chrono::milliseconds most_time,
             std::function<void(Answer)> then);
  /// `then` is not called any more.
  void cancel() { end(); }
  /// It has at most so much time from now on, and some more as long as it merely gets no core.
  void shorten(std::chrono::milliseconds most_time);

 private:
  [[nodiscard]] Result<> start_aside(const Work& work);
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
  std::chrono::steady_clock::time_point starved_until_;
  // What is over when something is cancelled is called all the same: by its number it is known.
  std::uint64_t run_ = 0;
  std::uint64_t wait_ = 0;  ///< for the timer
  std::function<void(Answer)> then_;
  std::string answer_;
  std::array<char, 4096> buffer_;  ///< not cleared: an agent has several, and most are never used
};

}  // namespace muster
