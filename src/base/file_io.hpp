#pragma once

// Files that somebody else has written.

#include "base/result.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
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

/// Where a file is in the end, if links stand under its name; unlike realpath(3) also where nothing is
/// there yet. Folders on the way stay as they are named. Fails for links in a circle.
[[nodiscard]] std::filesystem::path follow_links(std::filesystem::path path, std::error_code& failed);

enum class NullFor {
  Reading,
  Writing
};

/// /dev/null, close-on-exec. Where there is none: a pipe whose other end is closed, which is at its end for who
/// reads, and broken for who writes. Empty if not even that can be had.
[[nodiscard]] UniqueFd open_null(NullFor use);

/// The content of a regular file, at most `limit` bytes; empty when it cannot be read. A worker
/// wrote it: it may be a pipe, a link or huge. Its file system may hang, and whoever calls with it.
[[nodiscard]] std::string read_untrusted_file(const std::string& path, std::size_t limit);

/// What became of the bytes that were to be written.
struct WriteResult {
  std::size_t missing = 0;  ///< 0: all of them were taken
  int error_number = 0;     ///< why the rest was not
};

/// Writes all of it to a descriptor. One that takes nothing for now (a pipe without a reader) is waited
/// for as long as `patience`, each time anew; a file never is.
[[nodiscard]] WriteResult write_all(int fd, std::string_view bytes, std::chrono::milliseconds patience = {});

/// Writes a small file that is there whole or not at all: a new one, of which only its owner may read, takes the place of the one
/// that was there. Follows no link. Its file system may hang. Fails with `System`.
[[nodiscard]] Result<> write_whole_file(const std::string& path, std::string_view text);

/// The text of the file at a path; empty: it cannot be read. Who decides by what files say is given this, and opens none.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;

struct Unmap {
  std::size_t bytes = 0;
  void operator()(void* memory) const { (void)::munmap(memory, bytes); }
};

/// Things that a process made later writes for us: what it has written is there, however it ends.
template <typename Thing>
using SharedThings = std::unique_ptr<Thing[], Unmap>;

/// All bytes of them are 0. `count` is not.
template <typename Thing>
[[nodiscard]] Result<SharedThings<Thing>> share_things(std::size_t count) {
  static_assert(std::is_trivial_v<Thing>);
  const std::size_t bytes = count * sizeof(Thing);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {  // NOLINT(cppcoreguidelines-pro-type-cstyle-cast): the macro has it
    return system_error("cannot share memory with a process", errno);
  }
  return SharedThings<Thing>(static_cast<Thing*>(memory), Unmap{bytes});
}

}  // namespace muster
