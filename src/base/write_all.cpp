// The one loop around write(2).
#include "base/unique_fd.hpp"
#include "base/write_all.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

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

Result<> write_whole_file(const std::string& path, std::string_view text) {
  constexpr mode_t kOwnersAlone = 0600;
  const std::string made = path + ".new";
  const UniqueFd file(
      ::open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kOwnersAlone));
  if (!file) {
    return system_error("cannot write '" + path + "'", errno);
  }
  if (const auto written = write_all(file.get(), text); written.missing > 0) {
    return system_error("cannot write '" + path + "'", written.error_number);
  }
  if (::rename(made.c_str(), path.c_str()) != 0) {
    return system_error("cannot write '" + path + "'", errno);
  }
  return {};
}

}  // namespace muster
