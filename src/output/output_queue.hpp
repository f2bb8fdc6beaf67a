#pragma once

// Queues bytes for a console, or for all log files, without ever blocking.

#include "output/byte_sink.hpp"
#include "output/terminal/console_lines.hpp"
#include "process/timer.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

/// Names of a device in messages.
struct SinkNames {
  std::string name;  ///< "standard output"
  std::string line;  ///< "console line"
};

/// Fills a queue, and is called back about it.
class QueueOwner {
 public:
  virtual ~QueueOwner() = default;

  /// The queue takes bytes again, or never will.
  virtual void on_queue_writable() = 0;
  /// After `drain` returned false: the queue is drained. May be called before it returns.
  virtual void on_queue_drained() = 0;
};

/// A queue in front of a device.
///
///   Flowing ── no byte taken for `stall` ──▶ Stalled ── takes bytes again ──▶ Flowing
///      └────────── an error, nobody reads ──▶ Broken
///
/// A file whose disk is full stays Flowing: each piece is tried, and the lines that it lacks are counted and logged.
/// A slow device makes `is_congested()` true: the caller stops reading workers until `on_queue_writable`, and nothing is
/// lost. A stalled one drops new bytes, counts the lines and logs them; a broken one is logged and drops everything.
/// Bytes that were queued before a stall are kept, so no line is torn.
class OutputQueue : private SinkOwner {
 public:
  using Clock = std::chrono::steady_clock;

  /// Without a device the queue is broken from the beginning. `owner` outlives the queue; null: none.
  OutputQueue(boost::asio::io_context& io, std::unique_ptr<ByteSink> device, SinkNames names, Clock::duration stall,
              QueueOwner* owner = nullptr);

  /// Lines on the console.
  ConsoleLines& lines() { return lines_; }
  bool is_terminal() const { return lines_.is_terminal(); }

  /// Queues bytes of a single writer and writes as much as possible. False: they are dropped.
  bool write(std::string_view bytes);
  /// Queues bytes, as `write` does, for one of several writers. The last line may lack its end; if a line of another
  /// writer is open, it is ended first.
  bool write_in_line(std::string_view bytes, const void* writer);
  /// Draws rows that have changed: now, or behind queued bytes if there are many.
  void draw_rows();
  /// Queues bytes that a stall must not drop.
  void write_always(std::string_view bytes);
  /// Queues a message of muster on a line of its own, ending a line that is open.
  void write_message(std::string_view line);

  bool is_congested() const { return state_ == State::Flowing && queued() > kMost; }
  /// True when no byte is pending that could still be written.
  bool is_drained() const { return state_ != State::Flowing || (queued() == 0 && byte_sink_->has_written_all()); }
  /// As `is_drained`, after processing pending messages of the device, such as a full disk. When false,
  /// `on_queue_drained` is called once.
  bool drain();
  /// True when no more bytes will be shown.
  bool is_broken() const { return state_ == State::Broken; }
  bool is_stalled() const { return state_ == State::Stalled; }

  const std::string& name() const { return names_.name; }
  /// True when the device is a file whose file system has not taken everything yet.
  bool awaits_file() const {
    return state_ != State::Broken && byte_sink_->is_file() && (queued() > 0 || !byte_sink_->has_written_all());
  }
  /// Total bytes that were accepted, and total bytes that have arrived.
  std::uint64_t accepted() const { return accepted_; }
  std::uint64_t arrived() const { return byte_sink_ ? byte_sink_->progress() : 0; }

  /// Gives up at the end of the job: drops queued bytes and waits for nothing any more. Later bytes are written if
  /// they are taken at once. Returns the number of dropped lines that were not reported yet; the caller reports them.
  std::uint64_t discard();
  /// As `discard`, and also stops writing: the file system is not waited for.
  std::uint64_t give_up();
  std::string describe_dropped(std::uint64_t lines) const;
  /// One sentence for the lines that a full disk has not taken since the last call; empty: there are none.
  std::string take_lost();

 private:
  enum class State {
    Flowing,
    Stalled,
    Broken
  };

  static constexpr std::size_t kMost = std::size_t{1} << 20U;           ///< congested above
  static constexpr std::size_t kWritableBelow = std::size_t{1} << 18U;  ///< `on_queue_writable` is called below

  std::size_t queued() const { return queue_.size() - written_; }
  bool put(std::string_view bytes);
  std::string end_line();
  void enqueue(std::string_view bytes);
  std::string_view write_now(std::string_view bytes);
  ssize_t write_some(std::string_view bytes);
  void flush();
  void shrink();
  void note_progress(std::size_t bytes);
  void wait_for_device();
  void watch_for_stall();
  void on_stall_timer();
  void on_ready() override;
  void on_loss(const FileLoss& loss) override;
  void break_if_failed();
  void break_with(int error_number);
  void note_writable();
  void note_settled();

  SinkNames names_;
  Clock::duration stall_;
  std::unique_ptr<ByteSink> byte_sink_;
  State state_ = State::Flowing;
  Timer stall_timer_;
  QueueOwner* owner_;              ///< null: none, or the queue is given up
  bool is_drain_awaited_ = false;  ///< `on_queue_drained` is to be called
  std::string queue_;
  std::size_t written_ = 0;  ///< bytes of the queue that are written already
  ConsoleLines lines_;
  bool is_abandoned_ = false;  ///< after `discard`: nothing is queued any more
  bool was_stalled_ = false;   ///< when it was abandoned
  bool waits_ = false;         ///< for the device to take bytes
  bool was_congested_ = false;
  Clock::time_point last_progress_{};
  std::uint64_t accepted_ = 0;
  std::uint64_t dropped_lines_ = 0;
  std::uint64_t logged_dropped_ = 0;
  std::uint64_t lost_lines_ = 0;  ///< by a full disk, and not logged yet
  int loss_error_ = 0;            ///< of the last loss; 0: there was none
};

}  // namespace muster
