#pragma once

// Writes lines to standard output or standard error without ever blocking. Private to run/.

#include <muster/base/unique_fd.hpp>
#include <muster/logs/terminal_watch.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// One console: a terminal, a pipe, a socket or a file.
///
///   Flowing ── no byte taken for `stall` ──▶ Stalled ── takes bytes again ──▶ Flowing
///      └────────── an error, nobody reads ──▶ Broken
///
/// A slow console makes `is_congested()` true: the caller stops reading workers until `on_relief`,
/// and nothing is lost. A stalled one drops what comes, counts the lines and says so; a broken one
/// drops everything. What was queued before a stall is kept, so no line is torn.
class Console {
 public:
  using Clock = std::chrono::steady_clock;

  /// `fd` is 1 or 2; `name` is how messages call it. The descriptor that others share is never
  /// switched to non-blocking: a pipe or terminal is opened anew, a socket is sent to without
  /// waiting.
  Console(boost::asio::io_context& io, int fd, std::string name, Clock::duration stall);

  /// Called when the console takes bytes again, or never will.
  std::function<void()> on_relief;
  /// Called when nothing is queued any more that could still be written.
  std::function<void()> on_settled;
  /// Called with a sentence when the console breaks, or when lines were dropped.
  std::function<void(const std::string&)> on_remark;

  /// It is a terminal: lines of muster's own are to be seen there as they are.
  void watch_terminal() { terminal_.emplace(); }

  /// Queues whole lines (or, without prefixes, any bytes) and writes what can be written.
  void write(std::string_view bytes);
  /// Queues a line of muster's own: on a line of its own, whatever stands before it.
  void write_message(std::string_view line);

  [[nodiscard]] bool is_congested() const { return state_ == State::Flowing && queued() > kMost; }
  /// Nothing is queued that could still be written.
  [[nodiscard]] bool is_settled() const { return state_ != State::Flowing || queued() == 0; }
  /// True when no more bytes will be shown.
  [[nodiscard]] bool is_broken() const { return state_ == State::Broken; }
  [[nodiscard]] bool is_stalled() const { return state_ == State::Stalled; }
  /// Gives up at the end of the job: drops what is still queued and waits for nothing any more.
  /// What is written later is written if it is taken at once.
  /// Returns how many lines were dropped and not yet said.
  std::uint64_t abandon();
  [[nodiscard]] std::string describe_dropped(std::uint64_t lines) const;

 private:
  enum class State {
    Flowing,
    Stalled,
    Broken
  };
  enum class Kind {
    Direct,
    NonBlocking,
    Socket,
    Cautious
  };

  static constexpr std::size_t kMost = std::size_t{1} << 20U;    ///< congested above
  static constexpr std::size_t kRelief = std::size_t{1} << 18U;  ///< relieved below

  [[nodiscard]] std::size_t queued() const { return queue_.size() - written_; }
  void open(int fd);
  [[nodiscard]] bool watch(UniqueFd fd);
  void put(std::string_view bytes);
  [[nodiscard]] std::string_view write_now(std::string_view bytes);
  [[nodiscard]] ssize_t write_once(std::string_view bytes) const;
  [[nodiscard]] ssize_t write_some(std::string_view bytes);
  void flush();
  void note_progress(std::size_t bytes);
  void wait_until_writable();
  void watch_for_stall();
  void arm_stall_timer(Clock::time_point deadline);
  void on_stall_timer();
  void recover();
  void break_with(int error_number);
  void note_relief();

  std::string name_;
  Clock::duration stall_;
  Kind kind_ = Kind::Direct;
  State state_ = State::Flowing;
  UniqueFd own_fd_;     ///< the console opened anew, or a copy of the descriptor; written to
  int direct_fd_ = -1;  ///< a file, written to at once; not owned
  /// An epoll set that holds only `own_fd_`. Asio would switch what it waits for to non-blocking,
  /// which a descriptor that is shared with others must not be; switching the set harms nobody.
  boost::asio::posix::stream_descriptor writable_;
  boost::asio::steady_timer stall_timer_;
  std::string queue_;
  std::size_t written_ = 0;                ///< bytes of the queue that are out already
  std::optional<TerminalWatch> terminal_;  ///< empty: none, and all bytes pass as they are
  bool at_line_start_ = true;
  bool is_abandoned_ = false;  ///< nothing is queued any more
  bool waits_ = false;         ///< for the descriptor to become writable
  bool timer_runs_ = false;
  bool was_congested_ = false;
  Clock::time_point last_progress_{};
  std::uint64_t dropped_lines_ = 0;
  std::uint64_t said_dropped_ = 0;
};

}  // namespace muster
