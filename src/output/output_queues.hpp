#pragma once

// Owns the output queues of muster (standard output, standard error and the log files) for the life of the process, and
// limits how long the end waits for them.

#include "output/log_files.hpp"
#include "output/output_queue.hpp"
#include "process/helper_process.hpp"
#include "process/timers.hpp"
#include "run/run_options.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace muster {

/// Drain limit after a failed or stopped job, so that exit takes at most `--grace` + 2 s.
inline constexpr std::chrono::milliseconds kShortTimeout{1'200};

/// The queues of both consoles and of the log files. While this object lives, muster's own messages go through the
/// queue of standard error, so that they tear no line.
class OutputQueues : public QueueOwner {
 public:
  using Duration = std::chrono::milliseconds;

  OutputQueues(boost::asio::io_context& io, HelperProcesses& helpers, Duration stall);
  ~OutputQueues() override;
  OutputQueues(const OutputQueues&) = delete;
  OutputQueues& operator=(const OutputQueues&) = delete;

  /// Called when a queue takes bytes again, or has failed for good.
  std::function<void()> on_writable;

  OutputQueue& error() { return *error_; }
  /// Same object as `error()` when both streams are the same file.
  OutputQueue& out() { return out_ ? *out_ : *error_; }
  LogFiles& logs() { return logs_; }

  /// Descriptor of a stream; 2 for both streams when they are the same file.
  int descriptor(bool is_error) const;

  /// Adjusts both consoles to the remote launcher's terminals, which show their output among lines that begin with a
  /// host name.
  void watch_launcher_terminals(const Terminals& terminals);

  /// True when every queue has written all that it will; otherwise `next` is called later.
  bool drain(const std::function<void()>& next);
  /// Names the queues that are not drained, such as "the last lines for standard output".
  std::vector<std::string> describe_undrained();

  /// Starts the drain deadline: files whose file system makes no progress for `timeout`, which all files share, are
  /// given up. A slow file that makes progress is written to the end. From here on only the exit report writes.
  void start_deadline(Duration timeout);
  /// Grants a little more time for the messages of the exit report.
  void extend_deadline();
  /// Time until the rest is discarded.
  Duration time_left() const { return left_; }

  /// Stops waiting for consoles: bytes that they have not taken are dropped and counted.
  void discard_consoles();
  /// One sentence for each file that lacks bytes, and for each console with dropped lines that were not reported yet.
  /// Call it at the end.
  std::vector<std::string> describe_losses();

 private:
  void on_queue_writable() override;
  void on_queue_drained() override;
  std::vector<OutputQueue*> all();
  void note_loss(const OutputQueue& console, std::uint64_t lines);
  void give_up(OutputQueue& queue);

  // The drain deadline.
  std::vector<OutputQueue*> awaited();
  std::uint64_t arrived();
  void poll_later();
  void check_progress();

  boost::asio::io_context& io_;
  std::unique_ptr<OutputQueue> error_;
  std::unique_ptr<OutputQueue> out_;  ///< null when both streams are the same file
  LogFiles logs_;
  std::function<void()> next_;       ///< of `drain`
  std::vector<std::string> losses_;  ///< of consoles that were given up
  DelayedCall poll_timer_;
  Duration left_{};
  std::uint64_t arrived_ = 0;
};

/// Reports whether our standard output and standard error are terminals.
Terminals find_terminals();

}  // namespace muster
