// Reads the pipes and pseudo-terminals of the workers, and passes their lines to consoles and files. A
// pseudo-terminal ends with EIO when the last descriptor of its other side is closed.
#include "output/pipe_reader.hpp"

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10U;
/// Memory that all enlarged pipes together may use: beyond the size of a cache they get slower, and the kernel limits
/// the pipe pages of a user.
constexpr std::size_t kLargePipesBytes = std::size_t{2} << 20U;
/// Read limit for a terminal whose worker is gone: FIONREAD does not tell how much it holds.
constexpr ssize_t kMostOfTerminal = ssize_t{1} << 20U;
/// Interval in which changed rows are drawn.
constexpr std::chrono::milliseconds kDrawing{40};

}  // namespace

PipeReader::PipeReader(boost::asio::io_context& io, std::size_t workers, OutputQueues& queues)
    : io_(io),
      output_{queues, DelayedCall(io, kDrawing, [this] { settle_quiet_lines(); }), {}},
      open_of_worker_(workers) {
  queues.on_writable = [this] { resume(); };
}

PipeReader::~PipeReader() = default;

void PipeReader::add(UniqueFd read_end, StreamRoute route) {
  if (!buffer_) {
    buffer_ = std::make_unique_for_overwrite<char[]>(kBufferBytes);  // no page is used before the first read
  }
  (void)::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);  // this end is ours alone: the worker has the other one
  ++open_of_worker_[route.worker];
  streams_.push_back(std::make_unique<Stream>(*this, std::move(read_end), std::move(route)));
  (void)fit_window(*streams_.back());
  wait_for(*streams_.back());
}

/// Returns true when the terminal has got another size.
bool PipeReader::fit_window(Stream& stream) {
  if (!stream.is_terminal || !stream.is_open || !stream.lines.route.window_fd) {
    return false;
  }
  const WindowSize wanted =
      window_beside(window_size_of(*stream.lines.route.window_fd), stream.lines.route.prefix_columns);
  if (wanted == stream.window) {
    return false;
  }
  stream.window = wanted;
  set_window_size(stream.pipe.native_handle(), wanted);
  return true;
}

void PipeReader::fit_windows() {
  for (const auto& stream : streams_) {
    (void)fit_window(*stream);
  }
  draw_rows();
}

void PipeReader::leave_rows() {
  for_each_console_with_rows([](OutputQueue& console) { console.lines().leave_rows(); });
}

void PipeReader::redraw_rows() {
  for_each_console_with_rows([](OutputQueue& console) {
    console.lines().redraw_rows();
    console.draw_rows();
  });
}

void PipeReader::draw_rows() {
  for_each_console_with_rows([](OutputQueue& console) { console.draw_rows(); });
}

/// Asks each console on which a stream draws rows.
void PipeReader::for_each_console_with_rows(void (*what)(OutputQueue& console)) {
  for (const auto& stream : streams_) {
    if (stream->lines.draws_rows()) {
      what(*stream->lines.route.console);
    }
  }
}

void PipeReader::write_as_worker(std::size_t worker, std::string_view lines) {
  for (const auto& stream : streams_) {
    if (stream->lines.route.worker != worker || !stream->lines.keeps_last_lines()) {
      continue;
    }
    if (may_read(*stream)) {
      (void)read_once(*stream);  // output from before the change
    }
    stream->lines.end_line();
    stream->lines.deliver(lines);
  }
}

void PipeReader::wait_for(Stream& stream) {
  if (!may_read(stream)) {
    stream.is_paused = true;
    return;
  }
  stream.pipe.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this, &stream](const boost::system::error_code& error) {
                           if (error || !stream.is_open) {
                             return;
                           }
                           if (!may_read(stream)) {
                             stream.is_paused = true;  // other streams have filled the console since
                             return;
                           }
                           if (read_once(stream, ReadOrder::AsReadable) != ReadResult::End) {
                             wait_for(stream);
                           }
                         });
}

/// Numbers a read. The posted call begins a new turn when all streams that were readable together have been read.
ReadMoment PipeReader::next_moment(ReadOrder order) {
  if (!std::exchange(turns_->is_noted, true)) {
    boost::asio::post(io_, [turns = turns_] {
      turns->is_noted = false;
      ++turns->number;
    });
  }
  return {turns_->number, ++reads_, order == ReadOrder::AsReadable};
}

PipeReader::ReadResult PipeReader::read_once(Stream& stream, ReadOrder order) {
  ssize_t size = -1;
  do {
    size = ::read(stream.pipe.native_handle(), buffer_.get(), kBufferBytes);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && errno == EAGAIN) {
    return ReadResult::Nothing;
  }
  if (size <= 0) {
    end(stream);
    return ReadResult::End;
  }
  constexpr ssize_t kUsualPipe = ssize_t{64} << 10U;
  if (size >= kUsualPipe && !stream.has_large_pipe) {
    // Enlarges a full pipe, whose worker waits for us, to read more with fewer calls.
    stream.has_large_pipe = true;
    const auto bytes = static_cast<int>(kLargePipesBytes / streams_.size());
    // The pipe may be larger already where pages have 64 KiB.
    if (bytes > ::fcntl(stream.pipe.native_handle(), F_GETPIPE_SZ)) {
      (void)::fcntl(stream.pipe.native_handle(), F_SETPIPE_SZ, bytes);
    }
  }
  if (fit_window(stream) && on_resized) {
    on_resized(stream.lines.route.worker);  // the kernel signals only the group that has the terminal
  }
  stream.bytes_left_at_exit -= size;
  const auto now = std::chrono::steady_clock::now();
  if (now >= disregard_until_) {
    if (!stream.last_output && on_first_output && !last_output(stream.lines.route.worker)) {
      on_first_output(stream.lines.route.worker);
    }
    stream.last_output = now;
  }
  if (stream.lines.keeps_last_lines()) {  // a call for each turn of the loop costs throughput: only errors are ordered
    stream.lines.begin_read(next_moment(order), now);
  }
  stream.lines.deliver({buffer_.get(), static_cast<std::size_t>(size)});
  return ReadResult::Some;
}

void PipeReader::end(Stream& stream) {
  stream.is_open = false;
  const std::size_t worker = stream.lines.route.worker;
  --open_of_worker_[worker];
  boost::system::error_code ignored;  // this end is never written, so closing loses nothing
  stream.pipe.close(ignored);
  stream.lines.finish();
  if (stream.lines.keeps_last_lines() && stream.lines.last_lines().empty()) {
    keep_lines_of_output(stream);
  }
  if (on_end) {
    on_end(worker);
  }
}

/// Keeps the last lines of standard output for a worker that has closed its standard error without having written to
/// it, and goes on: after `exec 2>&1` its errors come there. A worker that has ended has closed both.
void PipeReader::keep_lines_of_output(Stream& error) {
  for (const auto& stream : streams_) {
    if (stream.get() == &error || !stream->is_open || stream->lines.route.worker != error.lines.route.worker) {
      continue;
    }
    pollfd output{stream->pipe.native_handle(), 0, 0};
    if (::poll(&output, 1, 0) == 0) {  // else nobody can write any more
      error.lines.set_keeps_last_lines(false);
      stream->lines.set_keeps_last_lines(true);
    }
  }
}

bool PipeReader::keeps_lines_of_output(std::size_t worker) const {
  return std::ranges::any_of(streams_, [worker](const auto& stream) {
    return stream->lines.route.worker == worker && !stream->lines.route.is_error && stream->lines.keeps_last_lines();
  });
}

std::optional<std::chrono::steady_clock::time_point> PipeReader::last_output(std::size_t worker) const {
  std::optional<std::chrono::steady_clock::time_point> last;
  for (const auto& stream : streams_) {
    if (stream->lines.route.worker == worker) {
      last = std::max(last, stream->last_output);
    }
  }
  return last;
}

/// Reads the streams again that waited for a console or the log files.
void PipeReader::resume() {
  for (const auto& stream : streams_) {
    if (stream->is_paused && stream->is_open) {
      stream->is_paused = false;
      wait_for(*stream);
    }
  }
}

void PipeReader::note_all_exited() {
  for (const auto& stream : streams_) {
    int waiting = 0;
    if (stream->is_open && ::ioctl(stream->pipe.native_handle(), FIONREAD, &waiting) == 0) {
      stream->bytes_left_at_exit = stream->is_terminal ? kMostOfTerminal : waiting;
    }
  }
}

void PipeReader::drain() {
  for (const auto& stream : streams_) {
    while (stream->is_open && stream->bytes_left_at_exit > 0 && read_once(*stream) == ReadResult::Some) {
    }
  }
}

bool PipeReader::may_read(const Stream& stream) {
  return stream.is_open && !stream.lines.is_congested();
}

void PipeReader::close() {
  for (const auto& stream : streams_) {
    if (stream->is_open) {
      end(*stream);
    }
  }
  queues().on_writable = nullptr;
}

bool PipeReader::waits_for_console(std::size_t worker) const {
  return std::any_of(streams_.begin(), streams_.end(), [&](const auto& stream) {
    const OutputQueue* const console = stream->lines.route.console;
    return stream->lines.route.worker == worker && console != nullptr && !console->is_drained();
  });
}

std::vector<std::string> PipeReader::last_lines(std::size_t worker) const {
  for (const auto& stream : streams_) {
    if (stream->lines.route.worker == worker && stream->lines.keeps_last_lines()) {
      return stream->lines.last_lines();
    }
  }
  return {};
}

std::optional<ReadMoment> PipeReader::error_since(std::size_t worker,
                                                  std::chrono::steady_clock::time_point since) const {
  for (const auto& stream : streams_) {
    if (stream->lines.route.worker == worker && stream->lines.keeps_last_lines()) {
      return stream->lines.error_since(since);
    }
  }
  return std::nullopt;
}

void PipeReader::note_stop() {
  constexpr std::chrono::seconds kJustNow{10};  // an older error was survived, or is not what ended the others
  const auto since = std::chrono::steady_clock::now() - kJustNow;
  for (const auto& stream : streams_) {
    if (stream->lines.keeps_last_lines() && may_read(*stream)) {
      (void)read_once(*stream);  // what waits in the pipe was written before the stop
    }
    if (stream->lines.keeps_last_lines() && stream->last_output >= since) {
      stream->lines.note_stop();
    }
  }
}

std::vector<std::string> PipeReader::last_lines_before_stop(std::size_t worker) const {
  for (const auto& stream : streams_) {
    if (stream->lines.route.worker == worker && stream->lines.keeps_last_lines()) {
      return stream->lines.lines_before_stop();
    }
  }
  return {};
}

void PipeReader::settle_quiet_lines() {
  for (const auto& stream : streams_) {
    stream->lines.settle();
  }
  draw_rows();
}

}  // namespace muster
