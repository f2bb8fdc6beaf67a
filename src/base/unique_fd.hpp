#pragma once

#include <unistd.h>

#include <utility>

namespace muster {

/// Owns one file descriptor. Never copied, closed exactly once.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);  // `other` closes the old descriptor; self-move is harmless
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  /// Gives the descriptor up: the caller closes it.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

  void reset() {
    if (fd_ >= 0) {
      ::close(std::exchange(fd_, -1));  // no retry on EINTR: on Linux the fd is already gone
    }
  }

 private:
  int fd_ = -1;
};

}  // namespace muster
