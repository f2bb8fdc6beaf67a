#pragma once

// Reads the output of workers and passes it to consoles, files and tails.

#include "base/control_lines.hpp"
#include "base/file_io.hpp"
#include "output/byte_sink.hpp"
#include "output/line_framer.hpp"
#include "output/output_queues.hpp"
#include "process/timers.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
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

/// All streams of all workers. Memory is bounded: a worker whose console or log file is congested is not read until
/// bytes are taken again, so it waits in its own write(2).
class PipeReader {
 public:
  PipeReader(boost::asio::io_context& io, std::size_t workers, OutputQueues& queues);
  ~PipeReader();
  PipeReader(const PipeReader&) = delete;
  PipeReader& operator=(const PipeReader&) = delete;

  /// Called before a worker's first bytes are shown.
  std::function<void(std::size_t worker)> on_first_output;
  /// Called when a stream has ended.
  std::function<void(std::size_t worker)> on_end;
  /// Called when a worker's terminal has got another size, unless `fit_windows` found that: no SIGWINCH has told the
  /// worker.
  std::function<void(std::size_t worker)> on_resized;

  /// Starts reading `read_end`, a pipe or our side of a pseudo-terminal, which no other process may share.
  void add(UniqueFd read_end, StreamRoute route);

  /// Changes the routes of a worker between two of its lines.
  template <typename Change>
  void change_routes(std::size_t worker, const Change& change);

  /// Adjusts the size of each terminal to the console's, as is done before each read.
  void fit_windows();
  /// To be called before another program, such as a shell, writes to the terminal: the drawn rows stay there.
  void leave_rows();
  /// To be called when the other program is done.
  void return_to_rows();

  /// Writes lines in the name of a worker: to where its standard error goes, even after that has ended.
  void write_as_worker(std::size_t worker, std::string_view lines);

  /// To be called when the last process of the job has ended. Bytes that are in the pipes now are the job's; later
  /// ones come from another process that inherited a pipe.
  void note_all_exited();
  /// Reads the bytes that the job has left, however slow the destinations are: at most the capacity of the pipes,
  /// once.
  void drain();

  /// Ends each stream, also one whose pipe another process holds open.
  void close();

  /// True when all streams of a worker have ended.
  [[nodiscard]] bool has_ended(std::size_t worker) const { return open_of_worker_[worker] == 0; }
  /// Does not count what comes by then as output of a worker: something else has made it write.
  void disregard_output_until(std::chrono::steady_clock::time_point time) { disregard_until_ = time; }
  /// Time of a worker's last output; empty: none yet.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> last_output(std::size_t worker) const;
  /// True when a console that shows this worker has not taken everything yet.
  [[nodiscard]] bool waits_for_console(std::size_t worker) const;
  /// The last lines of a worker's standard error.
  [[nodiscard]] std::vector<std::string> last_lines(std::size_t worker) const;
  /// To be called before the workers get a stop signal: what they write from now on may be the answer to it.
  void note_stop();
  /// The last lines before that, if the last of them had just been written; else none.
  [[nodiscard]] std::vector<std::string> last_lines_before_stop(std::size_t worker) const;

 protected:
  [[nodiscard]] OutputQueues& queues() const { return queues_; }

 private:
  class Stream;
  enum class ReadResult {
    Some,
    Nothing,
    End
  };

  [[nodiscard]] bool may_read(const Stream& stream) const;
  void wait_for(Stream& stream);
  void resume();
  ReadResult read_once(Stream& stream);
  void deliver(Stream& stream, std::string_view bytes);
  static bool fit_window(Stream& stream);
  static void enlarge_pipe(Stream& stream, std::size_t wanted);
  void end(Stream& stream);
  template <typename Step>
  void frame(Stream& stream, const Step& step);
  template <typename Step>
  void show(Stream& stream, const Step& step);
  void empty_shown();
  void watch_unsettled(Stream& stream);
  void settle_quiet_lines();
  void check_stream(Stream& stream);
  void show_begun(Stream& stream);
  static void update_row(Stream& stream);
  void draw_rows();
  void ask_consoles(void (*what)(OutputQueue& console));
  void watch_unfinished(Stream& stream);
  [[nodiscard]] static std::optional<std::chrono::milliseconds> quiet_before_showing(const Stream& stream);
  void show_unfinished(Stream& stream);
  void watch_progress(Stream& stream);
  void show_progress(Stream& stream);

  boost::asio::io_context& io_;
  OutputQueues& queues_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<int> open_of_worker_;                        ///< number of open streams, by worker
  std::chrono::steady_clock::time_point disregard_until_;  ///< see `disregard_output_until`
  DelayedCall quiet_timer_;         ///< one for all streams; runs only while there is something to settle or to draw
  std::unique_ptr<char[]> buffer_;  ///< shared: each read is delivered before the next
  std::string shown_;               ///< lines on their way to a console or a file
};

// One stream of one worker, as `PipeReader` reads it.

class PipeReader::Stream {
 public:
  /// Delay until the steps of an unfinished progress bar are shown.
  static constexpr std::chrono::milliseconds kProgressDelay{500};

  Stream(PipeReader& reader, UniqueFd read_end, StreamRoute stream_route)
      : route(std::move(stream_route)),
        number(reader.streams_.size()),
        is_terminal(::isatty(read_end.get()) != 0),
        pipe(reader.io_, read_end.release()),
        progress_timer(reader.io_, kProgressDelay, [this, &reader] { reader.show_progress(*this); }),
        unfinished_timer(reader.io_) {}

  [[nodiscard]] bool has_progress() const {
    const auto& shared = route.shared_files;
    return route.framer.has_progress() || std::any_of(shared.begin(), shared.end(), [](const LineRoute& line_route) {
             return line_route.framer.has_progress();
           });
  }

  [[nodiscard]] bool draws_rows() const { return route.console != nullptr && route.framer.draws_rows(); }
  /// True when the worker may edit the typed input key by key.
  [[nodiscard]] bool may_edit() const { return route.is_typed_to && !echoes(STDIN_FILENO); }

  /// True when the terminal itself shows the typed input.
  [[nodiscard]] static bool echoes(int fd) {
    termios settings{};
    return ::tcgetattr(fd, &settings) == 0 && (settings.c_lflag & ECHO) != 0;
  }

  StreamRoute route;
  std::size_t number;  ///< position in the order of the workers
  bool is_terminal;
  WindowSize window{};  ///< current size of the terminal
  boost::asio::posix::stream_descriptor pipe;
  DelayedCall progress_timer;
  Timer unfinished_timer;  ///< runs only while a console that is no terminal waits for the end of a line
  Tail tail;
  std::vector<std::string> lines_before_stop;
  std::optional<std::chrono::steady_clock::time_point> last_output;  ///< empty: none yet
  std::chrono::steady_clock::time_point last_read;
  std::chrono::steady_clock::time_point last_settled;
  bool has_unsettled = false;  ///< the timer has to settle it
  bool is_open = true;
  bool is_paused = false;
  bool has_large_pipe = false;
  bool is_within_line = false;     ///< standard error: the last line has no end yet
  ssize_t bytes_left_at_exit = 0;  ///< bytes in the pipe when the last process ended
};

template <typename Change>
void PipeReader::change_routes(std::size_t worker, const Change& change) {
  for (const auto& stream : streams_) {
    if (stream->route.worker == worker) {
      change(stream->route);
      (void)fit_window(*stream);
    }
  }
}

}  // namespace muster
