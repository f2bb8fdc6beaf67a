// Pumps the workers' pipes. Collects bytes only: logs/ makes lines, sinks take them.
#include "output.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace muster {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10U;
/// What all pipes together may hold when they are made larger: more than a cache holds is slower,
/// and the kernel counts the pages of a user's pipes.
constexpr std::size_t kLargePipesBytes = std::size_t{2} << 20U;
/// How long a progress bar may stand unfinished before its steps are shown.
constexpr std::chrono::milliseconds kProgressDelay{500};

}  // namespace

class Output::Stream {
 public:
  Stream(boost::asio::io_context& io, UniqueFd read_end, StreamRoute stream_route)
      : route(std::move(stream_route)), pipe(io, read_end.release()), progress_timer(io) {}

  [[nodiscard]] bool has_progress() const {
    const auto& shared = route.shared_files;
    return route.framer.has_progress() ||
           std::any_of(shared.begin(), shared.end(), [](const LineRoute& line_route) {
             return line_route.framer.has_progress();
           });
  }

  StreamRoute route;
  boost::asio::posix::stream_descriptor pipe;
  boost::asio::steady_timer progress_timer;
  Tail tail;
  bool is_open = true;
  bool is_paused = false;
  bool has_large_pipe = false;
  bool timer_runs = false;
  bool is_within_line = false;   ///< standard error: no line end has come since
  ssize_t left_by_the_dead = 0;  ///< bytes in the pipe when the last process had ended
};

Output::Output(boost::asio::io_context& io, std::size_t workers, LogFiles* logs)
    : io_(io), logs_(logs), open_of_worker_(workers) {}

Output::~Output() = default;

void Output::add(UniqueFd read_end, StreamRoute route) {
  if (!buffer_) {
    buffer_ = std::make_unique_for_overwrite<char[]>(kBufferBytes);  // no page before it is needed
  }
  (void)::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);  // ours alone: the worker has the other end
  ++open_of_worker_[route.worker];
  streams_.push_back(std::make_unique<Stream>(io_, std::move(read_end), std::move(route)));
  wait_for(*streams_.back());
}

void Output::change_routes(std::size_t worker, const std::function<void(StreamRoute&)>& change) {
  for (const auto& stream : streams_) {
    if (stream->route.worker == worker) {
      change(stream->route);
    }
  }
}

void Output::write_for(std::size_t worker, std::string_view lines) {
  for (const auto& stream : streams_) {
    if (stream->route.worker != worker || !stream->route.is_error) {
      continue;
    }
    if (may_read(*stream)) {
      (void)read_once(*stream);  // what the worker has written before
    }
    if (stream->is_within_line) {
      deliver(*stream, "\n");
    }
    deliver(*stream, lines);
  }
}

void Output::wait_for(Stream& stream) {
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
                             stream.is_paused = true;  // others have filled the console since
                             return;
                           }
                           if (read_once(stream) != ReadResult::End) {
                             wait_for(stream);
                           }
                         });
}

Output::ReadResult Output::read_once(Stream& stream) {
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
    // A full pipe means that the worker waits for us: fewer, larger reads from here on.
    stream.has_large_pipe = true;
    const auto wanted = static_cast<ssize_t>(kLargePipesBytes / streams_.size());
    // Where pages have 64 KiB it may be larger already.
    if (wanted > ::fcntl(stream.pipe.native_handle(), F_GETPIPE_SZ)) {
      (void)::fcntl(stream.pipe.native_handle(), F_SETPIPE_SZ, static_cast<int>(wanted));
    }
  }
  stream.left_by_the_dead -= size;
  deliver(stream, {buffer_.get(), static_cast<std::size_t>(size)});
  return ReadResult::Some;
}

void Output::deliver(Stream& stream, std::string_view bytes) {
  StreamRoute& route = stream.route;
  std::string sieved;
  if (route.sieve) {
    route.sieve->feed(bytes, sieved);
    bytes = sieved;
  }
  if (route.is_error) {
    stream.tail.feed(bytes);
    stream.is_within_line = !bytes.empty() && bytes.back() != '\n';
  }
  if (route.file) {
    logs_->write(*route.file, bytes);
  }
  frame(stream, [&](LineFramer& framer) { framer.feed(bytes, shown_); });
  watch_progress(stream);
}

/// Carries out one step of each framer of a stream, and passes on the lines that it gives out.
void Output::frame(Stream& stream, const std::function<void(LineFramer&)>& step) {
  StreamRoute& route = stream.route;
  for (LineRoute& shared : route.shared_files) {
    step(shared.framer);
    logs_->write(*shared.file, shown_);
    empty_shown();
  }
  if (route.console != nullptr) {
    step(route.framer);
    (void)route.console->write(shown_);
    empty_shown();
  }
}

void Output::empty_shown() {
  shown_.clear();
  if (shown_.capacity() > 4 * kBufferBytes) {
    shown_.shrink_to_fit();
  }
}

/// A progress bar has no line end until it is done: give out its steps from time to time.
void Output::watch_progress(Stream& stream) {
  if (stream.timer_runs || !stream.has_progress()) {
    return;
  }
  stream.timer_runs = true;
  stream.progress_timer.expires_after(kProgressDelay);
  stream.progress_timer.async_wait([this, &stream](const boost::system::error_code& error) {
    if (error) {
      return;  // the stream has ended, and may be gone
    }
    show_progress(stream);
  });
}

void Output::show_progress(Stream& stream) {
  stream.timer_runs = false;
  if (stream.is_open) {
    frame(stream, [this](LineFramer& framer) { framer.flush_progress(shown_); });
  }
}

void Output::end(Stream& stream) {
  stream.is_open = false;
  --open_of_worker_[stream.route.worker];
  stream.progress_timer.cancel();
  boost::system::error_code ignored;  // nothing is written, so nothing can be lost in closing
  stream.pipe.close(ignored);
  std::string kept;
  if (stream.route.sieve) {
    stream.route.sieve->finish(kept);
  }
  frame(stream, [&](LineFramer& framer) {
    framer.feed(kept, shown_);
    framer.finish(shown_);
  });
  if (on_end) {
    on_end(stream.route.worker);
  }
}

void Output::resume() {
  for (const auto& stream : streams_) {
    if (stream->is_paused && stream->is_open) {
      stream->is_paused = false;
      wait_for(*stream);
    }
  }
}

void Output::note_all_are_dead() {
  for (const auto& stream : streams_) {
    int waiting = 0;
    if (stream->is_open && ::ioctl(stream->pipe.native_handle(), FIONREAD, &waiting) == 0) {
      stream->left_by_the_dead = waiting;
    }
  }
}

void Output::drain() {
  for (const auto& stream : streams_) {
    while (stream->is_open && stream->left_by_the_dead > 0 &&
           read_once(*stream) == ReadResult::Some) {
    }
  }
}

bool Output::may_read(const Stream& stream) const {
  const StreamRoute& route = stream.route;
  const bool has_files = route.file || !route.shared_files.empty();
  return stream.is_open && (route.console == nullptr || !route.console->is_congested()) &&
         (!has_files || !logs_->are_congested());
}

void Output::close() {
  for (const auto& stream : streams_) {
    if (stream->is_open) {
      end(*stream);
    }
  }
}

bool Output::waits_for_console(std::size_t worker) const {
  return std::any_of(streams_.begin(), streams_.end(), [&](const auto& stream) {
    const Sink* const console = stream->route.console;
    return stream->route.worker == worker && console != nullptr && !console->is_settled();
  });
}

std::vector<std::string> Output::last_lines(std::size_t worker) const {
  for (const auto& stream : streams_) {
    if (stream->route.worker == worker && stream->route.is_error) {
      return stream->tail.lines();
    }
  }
  return {};
}

}  // namespace muster
