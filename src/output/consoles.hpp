#pragma once

// Standard output and standard error of muster, for its whole life.

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

/// Both consoles. While it lives, muster's own messages go through the one for errors, so that they
/// tear no line.
class Consoles {
 public:
  Consoles(boost::asio::io_context& io, HelperProcesses& helpers, std::chrono::milliseconds stall);
  ~Consoles();
  Consoles(const Consoles&) = delete;
  Consoles& operator=(const Consoles&) = delete;

  /// Called when a console takes bytes again, or never will.
  std::function<void()> on_writable;

  [[nodiscard]] OutputQueue& error() { return *error_; }
  /// The same object as `error()` when both streams are the same file.
  [[nodiscard]] OutputQueue& out() { return out_ ? *out_ : *error_; }

  /// That of a stream: 2 for both where they are the same file.
  [[nodiscard]] int descriptor(bool is_error) const;

  /// They are shown on these terminals of a front's, among lines that begin with the name of a host.
  void watch_terminals_of_front(const Terminals& terminals);

  /// True when every console has taken all that it will; else `next` is called later.
  [[nodiscard]] bool are_settled(const std::function<void()>& next);

  /// Both, or the one that both are.
  [[nodiscard]] std::vector<OutputQueue*> all() const;

  /// Waits for no console any more: what they have not taken is dropped and counted.
  void discard();
  /// The file system of this one is not waited for any longer.
  void give_up(OutputQueue& console);
  /// One sentence for each that has dropped lines and has not said so. To be called at the end.
  [[nodiscard]] std::vector<std::string> describe_losses();

 private:
  void watch_terminals();
  void pass_writable_on() const;
  void note_loss(const OutputQueue& console, std::uint64_t lines);

  boost::asio::io_context& io_;
  std::unique_ptr<OutputQueue> error_;
  std::unique_ptr<OutputQueue> out_;
  std::vector<std::string> losses_;  ///< of abandoned consoles
};

// The end of a job waits for files, and not for ever.

/// Where the job was to end: it ends within its grace and two seconds.
inline constexpr std::chrono::milliseconds kShortPatience{1'200};

/// Gives up those files whose file system takes nothing for a patience that they share. What is written
/// slowly is written.
class DrainDeadline {
 public:
  using Duration = std::chrono::milliseconds;

  DrainDeadline(boost::asio::io_context& io, Consoles& consoles, LogFiles* logs)
      : timer_(io), consoles_(consoles), logs_(logs) {}

  /// From here on nobody writes but who says the last words.
  void start(Duration patience);
  /// The last words have been said: there is a moment for them, too.
  void go_on();

  /// What is left of the patience.
  [[nodiscard]] Duration left() const { return left_; }
  /// Somebody else has waited for a file.
  void spend(Duration time) { left_ -= time; }

 private:
  [[nodiscard]] std::vector<OutputQueue*> awaited();
  [[nodiscard]] std::uint64_t arrived();
  void poll_later();
  void look();
  void give_up();

  boost::asio::steady_timer timer_;
  Consoles& consoles_;
  LogFiles* logs_;
  Duration left_{};
  std::uint64_t arrived_ = 0;
  bool is_waiting_ = false;
};

}  // namespace muster
