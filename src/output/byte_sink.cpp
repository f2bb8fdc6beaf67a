// Writes to consoles without blocking, which would stop the supervision of the whole node; and gets and sets window
// sizes.
#include "output/byte_sink.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace muster {
namespace {

/// Bytes that a pipe takes without blocking when poll(2) calls it writable. A terminal promises one byte.
constexpr std::size_t kCautiousBytes = 4096;

}  // namespace

NonblockingFd::NonblockingFd(boost::asio::io_context& io, int fd) : writable_(io) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    failure_ = EBADF;
    return;
  }
  const bool is_socket = S_ISSOCK(status.st_mode);
  is_terminal_ = S_ISCHR(status.st_mode) && ::isatty(fd) != 0;
  if (!is_socket && !S_ISFIFO(status.st_mode) && !is_terminal_) {
    direct_fd_ = fd;  // a device such as /dev/null never waits for a reader
    file_.emplace([fd](std::string_view bytes) { return write_all(fd, bytes); },
                  [this](const FileLoss& loss) {
                    if (losses_to_ != nullptr) {
                      losses_to_->on_loss(loss);
                    }
                  });
    return;
  }
  open(fd, is_socket);
}

void NonblockingFd::open(int fd, bool is_socket) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  UniqueFd own(is_socket ? -1 : ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  kind_ = is_socket ? Kind::Socket : Kind::NonBlocking;
  if (!own && errno == ENXIO && !is_socket) {
    failure_ = EPIPE;  // a pipe without a reader
    return;
  }
  if (!own) {  // we may not open it again: another user's pipe, a terminal of another container
    own = UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    kind_ = is_socket ? Kind::Socket : Kind::Cautious;
  }
  if (!watch(std::move(own))) {
    kind_ = Kind::Direct;  // out of descriptors: a console that may block is better than none
    direct_fd_ = fd;
  }
}

bool NonblockingFd::watch(UniqueFd fd) {
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

ssize_t NonblockingFd::write_some(std::string_view bytes) {
  if (file_) {
    file_->write(bytes);
    return static_cast<ssize_t>(bytes.size());
  }
  const int fd = direct_fd_ >= 0 ? direct_fd_ : own_fd_.get();
  if (kind_ == Kind::Socket) {
    return ::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  if (kind_ == Kind::Cautious) {
    pollfd ready{fd, POLLOUT, 0};
    const bool is_ready = ::poll(&ready, 1, 0) == 1;
    errno = EAGAIN;
    const std::size_t most = is_terminal_ ? 1 : kCautiousBytes;
    return is_ready ? ::write(fd, bytes.data(), std::min(bytes.size(), most)) : -1;
  }
  return ::write(fd, bytes.data(), bytes.size());
}

void NonblockingFd::when_ready(SinkOwner& owner) {
  writable_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       [&owner](const boost::system::error_code& error) {
                         if (!error) {
                           owner.on_ready();
                         }
                       });
}

void NonblockingFd::stop_waiting() {
  boost::system::error_code ignored;  // the descriptor is only waited for; closing cannot lose data
  writable_.close(ignored);
}

// Window sizes: see ioctl_tty(2).

std::optional<WindowSize> window_size_of(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) {
    return std::nullopt;
  }
  return WindowSize{.rows = size.ws_row, .columns = size.ws_col};
}

std::size_t columns_of(int fd) {
  return window_size_of(fd).value_or(WindowSize()).columns;
}

void set_window_size(int terminal, const WindowSize& size) {
  winsize wanted{};
  wanted.ws_row = size.rows;
  wanted.ws_col = size.columns;
  (void)::ioctl(terminal, TIOCSWINSZ, &wanted);  // a failure is harmless: the size only affects how the worker draws
}

WindowSize window_beside(const std::optional<WindowSize>& console, std::size_t prefix_columns) {
  constexpr WindowSize kUsual{.rows = 24, .columns = 80};
  constexpr std::size_t kLeastColumns = 10;  // a prefix that leaves fewer columns was not meant for this console
  WindowSize left = console.value_or(kUsual);
  if (left.columns >= prefix_columns + kLeastColumns) {
    left.columns = static_cast<unsigned short>(left.columns - prefix_columns);
  }
  return left;
}

}  // namespace muster
