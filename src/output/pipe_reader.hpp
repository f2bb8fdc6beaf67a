#pragma once

// Reads the output of workers and passes it to consoles, files and tails.

#include "base/file_io.hpp"
#include "output/byte_sink.hpp"
#include "output/output_queues.hpp"
#include "output/stream_lines.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

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
  void redraw_rows();

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
  bool has_ended(std::size_t worker) const { return open_of_worker_[worker] == 0; }
  /// Until `time`, bytes do not count as output of a worker, because muster itself has made the workers write.
  void disregard_output_until(std::chrono::steady_clock::time_point time) { disregard_until_ = time; }
  /// Time of a worker's last output; empty: none yet.
  std::optional<std::chrono::steady_clock::time_point> last_output(std::size_t worker) const;
  /// True when a console that shows this worker has not taken everything yet.
  bool waits_for_console(std::size_t worker) const;
  /// The last lines of a worker's standard error, or of its output, see `keeps_lines_of_output`.
  std::vector<std::string> last_lines(std::size_t worker) const;
  /// True if the worker has closed its standard error without writing to it, and goes on: its output is kept instead.
  bool keeps_lines_of_output(std::size_t worker) const;
  /// The moment at which a worker wrote its last error, in the order of all workers; empty: it wrote none since then.
  std::optional<ReadMoment> error_since(std::size_t worker, std::chrono::steady_clock::time_point since) const;
  /// To be called before the workers get a stop signal: what they write from now on may be the answer to it.
  void note_stop();
  /// The worker's last lines before `note_stop`, if the last of them had just been written then; else none.
  std::vector<std::string> last_lines_before_stop(std::size_t worker) const;

 protected:
  OutputQueues& queues() const { return output_.queues; }

 private:
  struct Stream;
  /// Counts the turns of the event loop in which something is read. Outlives the reader, as a call may be pending.
  struct Turns {
    std::uint64_t number = 0;
    bool is_noted = false;
  };
  enum class ReadOrder {
    AsReadable,  ///< in the order in which the streams became readable
    Unknown
  };
  enum class ReadResult {
    Some,
    Nothing,
    End
  };

  static bool may_read(const Stream& stream);
  void wait_for(Stream& stream);
  void resume();
  ReadResult read_once(Stream& stream, ReadOrder order = ReadOrder::Unknown);
  ReadMoment next_moment(ReadOrder order);
  static bool fit_window(Stream& stream);
  void end(Stream& stream);
  void keep_lines_of_output(Stream& error);
  void settle_quiet_lines();
  void draw_rows();
  void for_each_console_with_rows(void (*what)(OutputQueue& console));

  boost::asio::io_context& io_;
  LineOutput output_;  ///< its timer runs only while there is something to settle or to draw
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<int> open_of_worker_;                        ///< number of open streams, by worker
  std::chrono::steady_clock::time_point disregard_until_;  ///< see `disregard_output_until`
  std::shared_ptr<Turns> turns_ = std::make_shared<Turns>();
  std::uint64_t reads_ = 0;
  std::unique_ptr<char[]> buffer_;  ///< shared: each read is delivered before the next
};

// One stream of one worker, as `PipeReader` reads it.

struct PipeReader::Stream {
  Stream(PipeReader& reader, UniqueFd read_end, StreamRoute route)
      : lines(reader.io_, reader.output_, std::move(route), reader.streams_.size()),
        is_terminal(::isatty(read_end.get()) != 0),
        pipe(reader.io_, read_end.release()) {}

  StreamLines lines;
  bool is_terminal;
  boost::asio::posix::stream_descriptor pipe;
  WindowSize window;                                                 ///< current size of the terminal
  std::optional<std::chrono::steady_clock::time_point> last_output;  ///< empty: none yet
  bool is_open = true;
  bool is_paused = false;
  bool has_large_pipe = false;
  ssize_t bytes_left_at_exit = 0;  ///< bytes in the pipe when the last process ended
};

template <typename Change>
void PipeReader::change_routes(std::size_t worker, const Change& change) {
  for (const auto& stream : streams_) {
    if (stream->lines.route.worker == worker) {
      change(stream->lines.route);
      (void)fit_window(*stream);
    }
  }
}

}  // namespace muster
