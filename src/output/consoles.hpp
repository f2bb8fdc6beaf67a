#pragma once

// Owns muster's standard output and standard error for the life of the process, and limits how long the end waits for
// files.

#include "output/log_files.hpp"
#include "output/output_queue.hpp"
#include "process/helper_process.hpp"
#include "remote/remote_agents.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace muster {

/// Both consoles. While this object lives, muster's own messages go through the queue of standard error, so that they
/// tear no line.
class Consoles {
 public:
  Consoles(boost::asio::io_context& io, HelperProcesses& helpers, std::chrono::milliseconds stall);
  ~Consoles();
  Consoles(const Consoles&) = delete;
  Consoles& operator=(const Consoles&) = delete;

  /// Called when a console takes bytes again, or has failed for good.
  std::function<void()> on_writable;

  [[nodiscard]] OutputQueue& error() { return *error_; }
  /// Same object as `error()` when both streams are the same file.
  [[nodiscard]] OutputQueue& out() { return out_ ? *out_ : *error_; }

  /// Descriptor of a stream; 2 for both streams when they are the same file.
  [[nodiscard]] int descriptor(bool is_error) const;

  /// Adjusts both consoles to the remote launcher's terminals, which show their output among lines that begin with a
  /// host name.
  void watch_launcher_terminals(const Terminals& terminals);

  /// True when every console has taken all that it will; otherwise `next` is called later.
  [[nodiscard]] bool are_settled(const std::function<void()>& next);

  /// Both consoles, or one queue when both streams are the same file.
  [[nodiscard]] std::vector<OutputQueue*> all() const;

  /// Stops waiting for consoles: bytes that they have not taken are dropped and counted.
  void discard();
  /// Stops waiting for the file system of this console.
  void give_up(OutputQueue& console);
  /// One sentence for each console with dropped lines that were not reported yet. Call it at the end.
  [[nodiscard]] std::vector<std::string> describe_losses();

 private:
  void watch_terminals();
  void pass_writable_on() const;
  void note_loss(const OutputQueue& console, std::uint64_t lines);

  boost::asio::io_context& io_;
  std::unique_ptr<OutputQueue> error_;
  std::unique_ptr<OutputQueue> out_;
  std::vector<std::string> losses_;  ///< of consoles that were given up
};

/// Drain limit after a failed or stopped job, so that exit takes at most `--grace` + 2 s.
inline constexpr std::chrono::milliseconds kShortTimeout{1'200};

/// Gives up files whose file system makes no progress for a time that all files share. A slow file that makes
/// progress is written to the end.
class DrainDeadline {
 public:
  using Duration = std::chrono::milliseconds;

  DrainDeadline(boost::asio::io_context& io, Consoles& consoles, LogFiles* logs)
      : timer_(io), consoles_(consoles), logs_(logs) {}

  /// Starts the deadline. From here on only the exit report writes.
  void start(Duration timeout);
  /// Grants a little more time for the messages of the exit report.
  void go_on();

  /// Time until the rest is discarded.
  [[nodiscard]] Duration left() const { return left_; }
  /// Subtracts time that was spent waiting for a file elsewhere.
  void spend(Duration time) { left_ -= time; }

 private:
  [[nodiscard]] std::vector<OutputQueue*> awaited();
  [[nodiscard]] std::uint64_t arrived();
  void poll_later();
  void check();
  void give_up();

  boost::asio::steady_timer timer_;
  Consoles& consoles_;
  LogFiles* logs_;
  Duration left_{};
  std::uint64_t arrived_ = 0;
  bool is_waiting_ = false;
};

}  // namespace muster
