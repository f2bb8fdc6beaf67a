// The last step of every line. Blocking here would stop the supervision of the whole node.
#include "console.hpp"

#include <muster/base/text.hpp>
#include <muster/run/inherited.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace muster {
namespace {

/// What a pipe that poll(2) calls writable takes without blocking. A terminal promises one byte.
constexpr std::size_t kCautiousBytes = 4096;

bool would_block(int error_number) {
  return error_number == EAGAIN || error_number == EWOULDBLOCK;
}

}  // namespace

Console::Console(boost::asio::io_context& io, int fd, std::string name, Clock::duration stall)
    : name_(std::move(name)), stall_(stall), writable_(io), stall_timer_(io) {
  open(fd);
}

void Console::open(int fd) {
  struct stat status {};
  if (was_closed(fd) || ::fstat(fd, &status) != 0) {
    state_ = State::Broken;
    return;
  }
  const bool is_socket = S_ISSOCK(status.st_mode);
  if (!is_socket && !S_ISFIFO(status.st_mode) && ::isatty(fd) == 0) {
    direct_fd_ = fd;  // a file or a device such as /dev/null: it never waits for a reader
    return;
  }
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  UniqueFd own(is_socket ? -1 : ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  kind_ = is_socket ? Kind::Socket : Kind::NonBlocking;
  if (!own && errno == ENXIO && !is_socket) {
    state_ = State::Broken;  // a pipe that nobody reads
    return;
  }
  if (!own) {  // not ours to open again: another user's pipe, a terminal of another container
    own = UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    kind_ = is_socket ? Kind::Socket : Kind::Cautious;
  }
  if (!watch(std::move(own))) {
    kind_ = Kind::Direct;  // no descriptor is left: better a console that may block than none
    direct_fd_ = fd;
  }
}

bool Console::watch(UniqueFd fd) {
  UniqueFd set(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLOUT;
  if (!fd || !set || ::epoll_ctl(set.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) {
    return false;
  }
  boost::system::error_code error;
  writable_.assign(set.get(), error);
  if (error) {
    return false;
  }
  (void)set.release();
  own_fd_ = std::move(fd);
  return true;
}

void Console::write(std::string_view bytes) {
  if (terminal_ && state_ == State::Flowing) {
    put(terminal_->show(bytes));
  } else {
    put(bytes);
  }
}

void Console::put(std::string_view bytes) {
  if (bytes.empty() || state_ == State::Broken) {
    return;
  }
  if (state_ == State::Stalled) {
    dropped_lines_ += static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
    return;
  }
  at_line_start_ = bytes.back() == '\n';
  if (queued() == 0 && !waits_) {
    bytes = write_now(bytes);  // nothing before it: only what is not taken is queued
  }
  if (!bytes.empty() && state_ == State::Flowing && !is_abandoned_) {
    queue_.append(bytes);
    flush();
  }
}

/// Writes what is taken at once and returns the rest.
std::string_view Console::write_now(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t taken = write_some(bytes);
    if (taken < 0) {
      break;
    }
    bytes.remove_prefix(static_cast<std::size_t>(taken));
  }
  return bytes;
}

void Console::write_message(std::string_view line) {
  std::string whole =
      terminal_ && state_ == State::Flowing ? terminal_->clear_the_way() : std::string();
  whole += at_line_start_ ? "" : "\n";
  whole += line;
  put(whole);
}

/// One system call: bytes taken, or -1 with errno.
ssize_t Console::write_once(std::string_view bytes) const {
  const int fd = direct_fd_ >= 0 ? direct_fd_ : own_fd_.get();
  if (kind_ == Kind::Socket) {
    return ::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  if (kind_ == Kind::Cautious) {
    pollfd ready{fd, POLLOUT, 0};
    const bool is_ready = ::poll(&ready, 1, 0) == 1;
    errno = EAGAIN;
    const std::size_t most = ::isatty(fd) != 0 ? 1 : kCautiousBytes;
    return is_ready ? ::write(fd, bytes.data(), std::min(bytes.size(), most)) : -1;
  }
  return ::write(fd, bytes.data(), bytes.size());
}

/// Bytes taken, or -1 when none can be taken now or ever.
ssize_t Console::write_some(std::string_view bytes) {
  ssize_t taken = -1;
  do {
    taken = write_once(bytes);
  } while (taken < 0 && errno == EINTR);
  if (taken < 0 && !would_block(errno)) {
    break_with(errno);
  }
  return taken > 0 ? taken : -1;
}

void Console::flush() {
  while (queued() > 0 && state_ != State::Broken) {
    const ssize_t taken = write_some(std::string_view(queue_).substr(written_));
    if (taken < 0) {
      break;
    }
    note_progress(static_cast<std::size_t>(taken));
  }
  if (state_ == State::Broken) {
    return;
  }
  if (queued() == 0) {
    queue_.clear();
    written_ = 0;
    if (queue_.capacity() > kMost) {
      queue_.shrink_to_fit();
    }
  } else {
    wait_until_writable();
    watch_for_stall();
  }
  was_congested_ = was_congested_ || is_congested();
  if (was_congested_ && queued() < kRelief) {
    note_relief();
  } else if (queued() == 0 && on_settled) {
    on_settled();
  }
}

void Console::note_relief() {
  was_congested_ = false;
  if (on_relief) {
    on_relief();
  }
  if (is_settled() && on_settled) {
    on_settled();
  }
}

void Console::note_progress(std::size_t bytes) {
  written_ += bytes;
  last_progress_ = Clock::now();
  if (written_ > kMost) {  // move rarely
    queue_.erase(0, written_);
    written_ = 0;
  }
}

void Console::wait_until_writable() {
  if (waits_) {
    return;
  }
  waits_ = true;
  writable_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       [this](const boost::system::error_code& error) {
                         waits_ = false;
                         if (error) {
                           return;
                         }
                         flush();
                         if (state_ == State::Stalled && queued() == 0) {
                           recover();
                         }
                       });
}

void Console::watch_for_stall() {
  if (!timer_runs_ && state_ == State::Flowing) {
    last_progress_ = Clock::now();
    arm_stall_timer(last_progress_ + stall_);
  }
}

void Console::arm_stall_timer(Clock::time_point deadline) {
  timer_runs_ = true;
  stall_timer_.expires_at(deadline);
  stall_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) {
      on_stall_timer();
    }
  });
}

void Console::on_stall_timer() {
  timer_runs_ = false;
  if (state_ != State::Flowing || queued() == 0) {
    return;
  }
  if (const auto deadline = last_progress_ + stall_; Clock::now() < deadline) {
    arm_stall_timer(deadline);  // bytes were taken since
    return;
  }
  state_ = State::Stalled;
  note_relief();  // the workers go on; their lines for this console are dropped from here
}

std::string Console::describe_dropped(std::uint64_t lines) const {
  return count_of(lines, "console line") + " dropped: " + name_ +
         " took no byte for longer than --console-stall";
}

void Console::recover() {
  state_ = State::Flowing;
  const std::uint64_t dropped = dropped_lines_ - said_dropped_;
  said_dropped_ = dropped_lines_;
  if (dropped > 0 && on_remark) {
    on_remark(describe_dropped(dropped));
  }
}

std::uint64_t Console::abandon() {
  dropped_lines_ += static_cast<std::uint64_t>(
      std::count(queue_.begin() + static_cast<std::ptrdiff_t>(written_), queue_.end(), '\n'));
  queue_.clear();
  written_ = 0;
  is_abandoned_ = true;
  boost::system::error_code ignored;  // it only waits; nothing can be lost in closing
  writable_.close(ignored);
  on_settled = {};
  on_relief = {};
  stall_timer_.cancel();
  return dropped_lines_ - said_dropped_;
}

void Console::break_with(int error_number) {
  state_ = State::Broken;
  queue_.clear();
  written_ = 0;
  if (on_remark) {
    const bool is_closed = error_number == EPIPE || error_number == EBADF ||
                           error_number == ECONNRESET || error_number == EIO;
    on_remark(is_closed
                  ? name_ + " is closed, going on without it"
                  : "cannot write to " + name_ + ": " +
                        std::generic_category().message(error_number) + ", going on without it");
  }
  note_relief();
}

}  // namespace muster
