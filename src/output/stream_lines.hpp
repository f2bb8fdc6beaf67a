#pragma once

// Turns the bytes of one stream of one worker into lines on a console and in files, and keeps the last ones.

#include "base/control_lines.hpp"
#include "output/line_framer.hpp"
#include "output/output_queues.hpp"
#include "process/timers.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Lines of one stream on their way to a file that other streams share.
struct LineRoute {
  LineFramer framer{""};
  std::shared_ptr<LogFile> file;
  bool has_prefix = false;
};

/// Destinations of one stream of one worker.
struct StreamRoute {
  std::size_t worker = 0;
  bool is_error = false;                              ///< standard error, or both streams: its last lines are kept
  OutputQueue* console = nullptr;                     ///< not owned; null: not shown
  LineFramer framer{""};                              ///< for the console
  bool shows_unfinished = false;                      ///< on the console: unfinished lines, such as "(Pdb) "
  bool is_typed_to = false;                           ///< the worker may read the console's input
  std::unique_ptr<ControlLineFilter> control_filter;  ///< removes an agent's control lines first; null: there are none
  std::shared_ptr<LogFile> file;                      ///< of this stream alone: the exact bytes
  std::vector<LineRoute> shared_files;
  std::optional<int> window_fd;    ///< the console that a worker's terminal is as large as; empty: its size is kept
  std::size_t prefix_columns = 0;  ///< of that console's width, taken by the prefix of each line
};

/// The queues, a timer and a buffer that the streams of one reader share. Outlives the streams.
struct LineOutput {
  OutputQueues& queues;
  DelayedCall quiet_timer;  ///< asked for by streams with something to show later; calls `settle` of each stream
  std::string lines;        ///< on their way to a console or a file
};

/// The lines of one stream. An unfinished line is shown after a quiet moment: at once on a terminal, where the rest
/// follows it, else with growing pauses, as a line of its own.
class StreamLines {
 public:
  /// `number`: position in the order of the workers.
  StreamLines(boost::asio::io_context& io, LineOutput& output, StreamRoute stream_route, std::size_t number);

  /// To be called before `deliver` for the bytes of a read, if the last lines are kept.
  void begin_read(const ReadMoment& moment, std::chrono::steady_clock::time_point now) {
    tail_.begin_read(moment, now);
  }
  /// Passes bytes that were read to all destinations.
  void deliver(std::string_view bytes);
  /// To be called at the end of the stream: gives out what is left.
  void finish();
  /// Shows what has waited long enough: lines that the worker has drawn and left, and its unfinished line.
  void settle();
  /// True if the last lines are kept: of standard error, unless the worker has written nothing there and closed it.
  bool keeps_last_lines() const { return keeps_last_lines_; }
  void set_keeps_last_lines(bool keeps) { keeps_last_lines_ = keeps; }
  /// Ends an unfinished line. Only where the last lines are kept.
  void end_line();

  /// Keeps the last lines for `lines_before_stop`.
  void note_stop() { lines_before_stop_ = tail_.lines(); }
  const std::vector<std::string>& lines_before_stop() const { return lines_before_stop_; }
  std::vector<std::string> last_lines() const { return tail_.lines(); }
  /// When the last error in the last lines was written; empty: none was since then.
  std::optional<ReadMoment> error_since(std::chrono::steady_clock::time_point since) const {
    return tail_.error_since(since);
  }

  bool draws_rows() const { return route.console != nullptr && route.framer.draws_rows(); }
  /// True when a console or the log files have not taken earlier bytes yet, so that no more are to be read.
  bool is_congested() const;

  StreamRoute route;

 private:
  template <typename Step>
  void frame(const Step& step);
  template <typename Step>
  void show(const Step& step);
  void clear_lines();
  void watch_progress();
  void watch_unfinished();
  std::optional<std::chrono::milliseconds> quiet_before_showing() const;
  void show_unfinished();
  void watch_unsettled();
  void show_begun();
  bool is_asked() const;

  LineOutput& output_;
  std::size_t number_;
  DelayedCall progress_timer_;
  Timer unfinished_timer_;  ///< runs only while a console that is no terminal waits for the end of a line
  Tail tail_;
  std::vector<std::string> lines_before_stop_;
  std::chrono::steady_clock::time_point last_read_;
  /// Time at which `settle` last gave out lines, or at which the first line began to wait for that.
  std::chrono::steady_clock::time_point last_given_out_;
  bool has_waiting_lines_ = false;  ///< `settle` has something to show later
  bool keeps_last_lines_;
  bool is_within_line_ = false;  ///< where the last lines are kept: the last one has no end yet
};

}  // namespace muster
