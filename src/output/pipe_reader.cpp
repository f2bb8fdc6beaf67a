// Reads the pipes and pseudo-terminals of the workers, and passes their lines to consoles and files. A
// pseudo-terminal ends with EIO when the last descriptor of its other side is closed.
#include "output/pipe_reader.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>

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
    : io_(io), queues_(queues), open_of_worker_(workers), quiet_timer_(io, kDrawing, [this] { settle_quiet_lines(); }) {
  queues_.on_writable = [this] { resume(); };
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
  if (!stream.is_terminal || !stream.is_open || !stream.route.window_fd) {
    return false;
  }
  const WindowSize wanted = window_beside(window_size_of(*stream.route.window_fd), stream.route.prefix_columns);
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
  ask_consoles([](OutputQueue& console) { console.lines().leave_rows(); });
}

void PipeReader::return_to_rows() {
  ask_consoles([](OutputQueue& console) {
    console.lines().return_to_rows();
    console.draw_rows();
  });
}

void PipeReader::draw_rows() {
  ask_consoles([](OutputQueue& console) { console.draw_rows(); });
}

/// Asks each console on which a stream draws rows.
void PipeReader::ask_consoles(void (*what)(OutputQueue& console)) {
  for (const auto& stream : streams_) {
    if (stream->draws_rows()) {
      what(*stream->route.console);
    }
  }
}

void PipeReader::write_as_worker(std::size_t worker, std::string_view lines) {
  for (const auto& stream : streams_) {
    if (stream->route.worker != worker || !stream->route.is_error) {
      continue;
    }
    if (may_read(*stream)) {
      (void)read_once(*stream);  // output from before the change
    }
    if (stream->is_within_line) {
      deliver(*stream, "\n");
    }
    deliver(*stream, lines);
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
                           if (read_once(stream) != ReadResult::End) {
                             wait_for(stream);
                           }
                         });
}

PipeReader::ReadResult PipeReader::read_once(Stream& stream) {
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
    enlarge_pipe(stream, kLargePipesBytes / streams_.size());
  }
  if (fit_window(stream) && on_resized) {
    on_resized(stream.route.worker);  // the kernel signals only the group that has the terminal
  }
  stream.bytes_left_at_exit -= size;
  if (const auto now = std::chrono::steady_clock::now(); now >= disregard_until_) {
    if (!stream.last_output && on_first_output && !last_output(stream.route.worker)) {
      on_first_output(stream.route.worker);
    }
    stream.last_output = now;
  }
  deliver(stream, {buffer_.get(), static_cast<std::size_t>(size)});
  return ReadResult::Some;
}

/// Enlarges a full pipe, whose worker waits for us, to read more with fewer calls.
void PipeReader::enlarge_pipe(Stream& stream, std::size_t wanted) {
  stream.has_large_pipe = true;
  const auto bytes = static_cast<int>(wanted);
  // The pipe may be larger already where pages have 64 KiB.
  if (bytes > ::fcntl(stream.pipe.native_handle(), F_GETPIPE_SZ)) {
    (void)::fcntl(stream.pipe.native_handle(), F_SETPIPE_SZ, bytes);
  }
}

void PipeReader::deliver(Stream& stream, std::string_view bytes) {
  StreamRoute& route = stream.route;
  std::string filtered;
  if (route.control_filter) {
    route.control_filter->feed(bytes, filtered);
    bytes = filtered;
  }
  if (route.is_error) {
    stream.tail.feed(bytes);
    stream.is_within_line = !bytes.empty() && bytes.back() != '\n';
  }
  if (route.file) {
    queues_.logs().write(*route.file, bytes);
  }
  frame(stream, [&](LineFramer& framer) { framer.feed(bytes, shown_); });
  watch_progress(stream);
  watch_unsettled(stream);
  watch_unfinished(stream);
}

void PipeReader::end(Stream& stream) {
  stream.is_open = false;
  --open_of_worker_[stream.route.worker];
  stream.progress_timer.cancel();
  stream.unfinished_timer.cancel();
  boost::system::error_code ignored;  // this end is never written, so closing loses nothing
  stream.pipe.close(ignored);
  std::string kept;
  if (stream.route.control_filter) {
    stream.route.control_filter->finish(kept);
  }
  frame(stream, [&](LineFramer& framer) {
    framer.feed(kept, shown_);
    framer.finish(shown_);
  });
  stream.has_unsettled = false;
  if (stream.route.console != nullptr) {
    stream.route.console->draw_rows();
    stream.route.console->lines().forget(&stream);
  }
  if (on_end) {
    on_end(stream.route.worker);
  }
}

std::optional<std::chrono::steady_clock::time_point> PipeReader::last_output(std::size_t worker) const {
  std::optional<std::chrono::steady_clock::time_point> last;
  for (const auto& stream : streams_) {
    if (stream->route.worker == worker) {
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

bool PipeReader::may_read(const Stream& stream) const {
  const StreamRoute& route = stream.route;
  const bool has_files = route.file || !route.shared_files.empty();
  return stream.is_open && (route.console == nullptr || !route.console->is_congested()) &&
         (!has_files || !queues_.logs().are_congested());
}

void PipeReader::close() {
  for (const auto& stream : streams_) {
    if (stream->is_open) {
      end(*stream);
    }
  }
  queues_.on_writable = nullptr;
}

bool PipeReader::waits_for_console(std::size_t worker) const {
  return std::any_of(streams_.begin(), streams_.end(), [&](const auto& stream) {
    const OutputQueue* const console = stream->route.console;
    return stream->route.worker == worker && console != nullptr && !console->is_drained();
  });
}

std::vector<std::string> PipeReader::last_lines(std::size_t worker) const {
  for (const auto& stream : streams_) {
    if (stream->route.worker == worker && stream->route.is_error) {
      return stream->tail.lines();
    }
  }
  return {};
}

void PipeReader::note_stop() {
  constexpr std::chrono::seconds kJustNow{10};  // an older error was survived, or is not what ended the others
  const auto since = std::chrono::steady_clock::now() - kJustNow;
  for (const auto& stream : streams_) {
    if (stream->route.is_error && may_read(*stream)) {
      (void)read_once(*stream);  // what waits in the pipe was written before the stop
    }
    if (stream->route.is_error && stream->last_output >= since) {
      stream->lines_before_stop = stream->tail.lines();
    }
  }
}

std::vector<std::string> PipeReader::last_lines_before_stop(std::size_t worker) const {
  for (const auto& stream : streams_) {
    if (stream->route.worker == worker && stream->route.is_error) {
      return stream->lines_before_stop;
    }
  }
  return {};
}

// Shows lines on consoles, and decides when unfinished lines are shown too.

namespace {

/// Capacity that a buffer of lines keeps for reuse.
constexpr std::size_t kUsualLines = std::size_t{1} << 20U;
/// Quiet time after which an unfinished line is shown.
constexpr std::chrono::milliseconds kQuiet{100};
/// Time after which a line that the cursor has not gone back to is given out: a program that draws two bars may be
/// interrupted between them.
constexpr std::chrono::milliseconds kLeft{500};

}  // namespace

/// Runs one step on each framer of a stream, and passes on the lines that it gives out.
template <typename Step>
void PipeReader::frame(Stream& stream, const Step& step) {
  StreamRoute& route = stream.route;
  for (LineRoute& shared : route.shared_files) {
    step(shared.framer);
    queues_.logs().write(*shared.file, shown_);
    empty_shown();
  }
  if (route.console != nullptr) {
    show(stream, step);
  }
}

template <typename Step>
void PipeReader::show(Stream& stream, const Step& step) {
  StreamRoute& route = stream.route;
  step(route.framer);
  update_row(stream);
  if (route.framer.has_whole_lines()) {
    (void)route.console->write_in_line(shown_, &stream);
  } else {
    (void)route.console->write(shown_);
  }
  empty_shown();
}

void PipeReader::empty_shown() {
  shown_.clear();
  if (shown_.capacity() > kUsualLines) {
    shown_.shrink_to_fit();
  }
}

/// Shows the steps of a progress bar periodically: it has no line end until it is done.
void PipeReader::watch_progress(Stream& stream) {
  if (stream.has_progress()) {
    stream.progress_timer.ask();
  }
}

void PipeReader::show_progress(Stream& stream) {
  if (stream.is_open) {
    frame(stream, [this](LineFramer& framer) { framer.flush_progress(shown_); });
  }
}

/// Waits until nothing has followed an unfinished line for a while. A terminal has its own ways: `watch_unsettled`.
void PipeReader::watch_unfinished(Stream& stream) {
  const auto quiet = quiet_before_showing(stream);
  if (quiet) {
    stream.last_read = std::chrono::steady_clock::now();
  }
  if (quiet && !stream.unfinished_timer.is_pending()) {
    stream.unfinished_timer.start(*quiet, [this, &stream] { show_unfinished(stream); });
  } else if (!quiet && stream.unfinished_timer.is_pending()) {
    stream.unfinished_timer.cancel();
  }
}

std::optional<std::chrono::milliseconds> PipeReader::quiet_before_showing(const Stream& stream) {
  const StreamRoute& route = stream.route;
  return route.console != nullptr && !route.shows_unfinished ? route.framer.quiet_before_showing() : std::nullopt;
}

void PipeReader::show_unfinished(Stream& stream) {
  const auto quiet = quiet_before_showing(stream);
  if (!quiet) {
    return;
  }
  const auto left = stream.last_read + *quiet - std::chrono::steady_clock::now();
  if (left > std::chrono::nanoseconds::zero()) {  // bytes have come since the timer was started
    stream.unfinished_timer.start(left, [this, &stream] { show_unfinished(stream); });
  } else {
    show(stream, [this](LineFramer& framer) { framer.show_unfinished(shown_); });
  }
}

void PipeReader::watch_unsettled(Stream& stream) {
  const bool had_any = stream.has_unsettled;
  const auto now = std::chrono::steady_clock::now();
  stream.has_unsettled = stream.route.shows_unfinished && stream.route.framer.has_unsettled();
  if (stream.has_unsettled || had_any) {
    stream.last_read = now;
    stream.last_settled = had_any ? stream.last_settled : now;
    quiet_timer_.ask();
  }
}

void PipeReader::settle_quiet_lines() {
  for (const auto& stream : streams_) {
    if (stream->has_unsettled) {
      check_stream(*stream);
    }
  }
  draw_rows();
}

/// Gives out lines that the worker has left, or shows its unfinished line.
void PipeReader::check_stream(Stream& stream) {
  const auto now = std::chrono::steady_clock::now();
  const bool is_quiet = now - stream.last_read >= kQuiet;
  if (now - stream.last_settled >= kLeft) {
    stream.last_settled = now;
    show(stream, [this](LineFramer& framer) { framer.settle(shown_); });
  }
  if (is_quiet) {
    show_begun(stream);
  }
  const LineFramer& framer = stream.route.framer;
  stream.has_unsettled = framer.has_unsettled() && (!is_quiet || framer.may_settle());
  if (stream.has_unsettled) {
    quiet_timer_.ask();
  }
}

/// Shows an unfinished line. A terminal that echoes typed text echoes the Enter too, unseen by us: the prompt is then
/// shown as it is, and the text after it gets its prefix again.
void PipeReader::show_begun(Stream& stream) {
  const bool is_asked = stream.route.is_typed_to && !stream.may_edit();
  show(stream, [&](LineFramer& framer) {
    framer.begin_row(shown_);
    if (framer.has_prompt() && (is_asked || !framer.draws_rows())) {
      framer.show_prompt(shown_);
    }
  });
}

/// Passes the row to the console, which draws it with the next lines or on request.
void PipeReader::update_row(Stream& stream) {
  if (stream.draws_rows()) {
    stream.route.console->lines().set_row(stream.number, stream.route.framer.row());
  }
}

}  // namespace muster
