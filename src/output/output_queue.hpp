#pragma once

// Takes bytes for a console, or for all log files, without ever blocking. Private to run/.

#include "output/byte_sink.hpp"
#include "output/drawn_rows.hpp"
#include "output/terminal_sanitizer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

/// How messages call a sink.
struct SinkNames {
  std::string name;  ///< "standard output"
  std::string line;  ///< "console line"
};

/// A queue in front of a device.
///
///   Flowing ── no byte taken for `stall` ──▶ Stalled ── takes bytes again ──▶ Flowing
///      └────────── an error, nobody reads ──▶ Broken
///
/// A slow one makes `is_congested()` true: the caller stops reading workers until `on_writable`,
/// and nothing is lost. A stalled one drops what comes, counts the lines and says so; a broken one
/// drops everything. What was queued before a stall is kept, so no line is torn.
class OutputQueue {
 public:
  using Clock = std::chrono::steady_clock;

  /// Without a device it is broken from the beginning.
  OutputQueue(boost::asio::io_context& io, std::unique_ptr<ByteSink> device, SinkNames names, Clock::duration stall);

  /// Called when bytes are taken again, or never will be.
  std::function<void()> on_writable;
  /// Called when it breaks, or when lines were dropped: with a sentence.
  std::function<void(const std::string&)> on_remark;

  /// It is a terminal, now so many columns wide: lines of muster's own are to be seen there as they are.
  void watch_terminal(std::function<std::size_t()> width) {
    terminal_.emplace();
    width_ = std::move(width);
  }
  [[nodiscard]] bool is_terminal() const { return terminal_.has_value(); }
  /// On the terminal lines of muster's may begin with the name of a host.
  void expect_hosts() { terminal_->expect_hosts(); }

  /// Queues whole lines (or, without prefixes, any bytes) and writes what can be written. False: they
  /// are dropped.
  bool write(std::string_view bytes);
  /// The same of one writer among several, whose last line may have no end yet: a line of somebody else is ended first.
  bool write_in_line(std::string_view bytes, const void* writer);
  /// The cursor stands behind what this one has written last, in a line that has no end.
  [[nodiscard]] bool is_within_line_of(const void* writer) const { return line_of_ == writer; }
  /// It is gone.
  void forget(const void* writer) { line_of_ = line_of_ == writer ? nullptr : line_of_; }
  /// From now on these are the rows of a worker that are not final; they stand below all lines of the terminal.
  void set_rows(std::size_t worker, ShownRows rows) { rows_.set(worker, std::move(rows)); }
  /// The terminal has so many rows; 0: nobody knows.
  void set_height(std::size_t rows) { rows_.set_height(rows); }
  /// Draws the rows as they are now, unless many bytes are waiting: then it is done behind those.
  void draw_rows();
  /// What is drawn stays where it is: somebody else writes to the terminal now.
  void leave_rows();
  /// It has done so, and rows are drawn again.
  void return_to_rows();
  /// Queues what must not be dropped by a stall.
  void write_always(std::string_view bytes);
  /// Queues a line of muster's own: on a line of its own, whatever stands before it.
  void write_message(std::string_view line);

  [[nodiscard]] bool is_congested() const { return state_ == State::Flowing && queued() > kMost; }
  /// Nothing is on the way any more that could still be written.
  [[nodiscard]] bool is_drained() const {
    return state_ != State::Flowing || (queued() == 0 && byte_sink_->has_written_all());
  }
  /// The same, with all that is known of what has arrived, such as a full disk. When false, `then` is called
  /// once it is settled, which may be within this call.
  [[nodiscard]] bool drain(std::function<void()> then);
  /// True when no more bytes will be shown.
  [[nodiscard]] bool is_broken() const { return state_ == State::Broken; }
  [[nodiscard]] bool is_stalled() const { return state_ == State::Stalled; }

  [[nodiscard]] const std::string& name() const { return names_.name; }
  /// It is a file whose file system has not yet taken everything.
  [[nodiscard]] bool awaits_file() const {
    return state_ != State::Broken && byte_sink_->is_file() && (queued() > 0 || !byte_sink_->has_written_all());
  }
  /// How many bytes it was given so far, and how many of those have arrived.
  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
  [[nodiscard]] std::uint64_t arrived() const { return byte_sink_ ? byte_sink_->progress() : 0; }

  /// Gives up at the end of the job: drops what is still queued and waits for nothing any more.
  /// What is written later is written if it is taken at once.
  /// Returns how many lines were dropped and not yet said: they are the caller's to say.
  std::uint64_t discard();
  /// The same, and nothing is written any more: the file system is not waited for.
  std::uint64_t give_up();
  [[nodiscard]] std::string describe_dropped(std::uint64_t lines) const;

 private:
  enum class State {
    Flowing,
    Stalled,
    Broken
  };

  static constexpr std::size_t kMost = std::size_t{1} << 20U;           ///< congested above
  static constexpr std::size_t kWritableBelow = std::size_t{1} << 18U;  ///< relieved below

  [[nodiscard]] std::size_t queued() const { return queue_.size() - written_; }
  bool put(std::string_view bytes);
  [[nodiscard]] bool may_draw() const;
  [[nodiscard]] std::string drawn_rows();
  [[nodiscard]] std::string end_line();
  void enqueue(std::string_view bytes);
  [[nodiscard]] std::string_view write_now(std::string_view bytes);
  [[nodiscard]] ssize_t write_some(std::string_view bytes);
  void flush();
  void shrink();
  void note_progress(std::size_t bytes);
  void wait_for_device();
  void watch_for_stall();
  void arm_stall_timer(Clock::time_point deadline);
  void on_stall_timer();
  void recover();
  void catch_up();
  void break_if_failed();
  void break_with(int error_number);
  void note_writable();
  void note_settled();

  SinkNames names_;
  Clock::duration stall_;
  std::unique_ptr<ByteSink> byte_sink_;
  State state_ = State::Flowing;
  boost::asio::steady_timer stall_timer_;
  std::function<void()> settled_;
  std::string queue_;
  std::size_t written_ = 0;                    ///< bytes of the queue that are out already
  std::optional<TerminalSanitizer> terminal_;  ///< empty: none, and all bytes pass as they are
  std::function<std::size_t()> width_;         ///< of the terminal
  LiveRows rows_;
  bool at_line_start_ = true;
  const void* line_of_ = nullptr;  ///< who may go on in the line of the cursor; not owned
  bool is_abandoned_ = false;      ///< nothing is queued any more
  bool was_stalled_ = false;       ///< when it was abandoned
  bool waits_ = false;             ///< for the device
  bool timer_runs_ = false;
  bool was_congested_ = false;
  Clock::time_point last_progress_{};
  std::uint64_t accepted_ = 0;
  std::uint64_t dropped_lines_ = 0;
  std::uint64_t logged_dropped_ = 0;
};

}  // namespace muster
