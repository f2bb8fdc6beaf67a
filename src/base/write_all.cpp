// The one loop around write(2).
#include <muster/base/write_all.hpp>

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace muster {
namespace {

/// True when it may be tried again.
bool wait_until_writable(int fd, int error_number, std::chrono::milliseconds patience) {
  if (error_number == EINTR) {
    return true;
  }
  pollfd ready{fd, POLLOUT, 0};
  return error_number == EAGAIN && ::poll(&ready, 1, static_cast<int>(patience.count())) != 0;
}

}  // namespace

WriteResult write_all(int fd, std::string_view bytes, std::chrono::milliseconds patience) {
  while (!bytes.empty()) {
    const ssize_t taken = ::write(fd, bytes.data(), bytes.size());
    const int error_number = taken == 0 ? ENOSPC : errno;
    if (taken > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(taken));
    } else if (taken == 0 || !wait_until_writable(fd, error_number, patience)) {
      return {bytes.size(), error_number};
    }
  }
  return {};
}

}  // namespace muster
