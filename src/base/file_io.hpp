#pragma once

// Owns descriptors, and reads and writes small files, among them untrusted ones.

#include "base/result.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

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

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  /// Gives up ownership: the caller closes the descriptor.
  int release() { return std::exchange(fd_, -1); }

  void reset() {
    if (fd_ >= 0) {
      ::close(std::exchange(fd_, -1));  // no retry on EINTR: on Linux the fd is already gone
    }
  }

 private:
  int fd_ = -1;
};

/// Both ends of a pipe.
struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

/// Makes a pipe, close-on-exec.
[[nodiscard]] Result<Pipe> make_pipe();

/// The path behind a chain of links. Unlike realpath(3), works for a missing file, too, and keeps the directories of
/// the path as they are named. Fails for a cycle of links, and for a link that another user has put into a folder of
/// all users.
std::filesystem::path follow_links(std::filesystem::path path, std::error_code& failed);

enum class NullFor {
  Reading,
  Writing
};

/// Opens /dev/null, close-on-exec. In an image without devices: a pipe whose other end is closed, so that reads see
/// end of file and writes fail. Empty if the kernel refuses both.
UniqueFd open_null(NullFor use);

/// Result of `read_up_to`.
struct ReadResult {
  std::string bytes;
  int error_number = 0;  ///< errno of the failed read
};

/// Reads to the end, to an error, or until there are `most` bytes.
ReadResult read_up_to(int fd, std::size_t most);

/// Text of a regular file; empty if it cannot be read, or is another kind of file. A pipe could block.
std::optional<std::string> read_regular_file(const std::string& path);

/// Opens a regular file for reading. Somebody else, such as a worker, has named the path, so it may be a pipe, a
/// device or a link. Empty: it is none, or cannot be opened. Blocks as long as the file system hangs.
UniqueFd open_untrusted_file(const std::string& path);

/// Reads at most `limit` bytes of a regular file, opened by `open_untrusted_file`; empty when it cannot be read.
std::string read_untrusted_file(const std::string& path, std::size_t limit);

/// Result of `write_all`.
struct WriteResult {
  std::size_t missing = 0;  ///< bytes not written; 0: all were
  int error_number = 0;     ///< errno of the failed write
};

/// Writes all bytes to a descriptor. Waits up to `timeout` each time that the descriptor is not writable, as with a
/// full pipe; a regular file never waits.
WriteResult write_all(int fd, std::string_view bytes, std::chrono::milliseconds timeout = {});

/// True if the file or folder belongs to the user, and nobody else may write it.
bool is_writable_by_alone(const struct stat& status, uid_t user);
/// True if this holds for an open file or folder.
bool is_writable_by_alone(int file, uid_t user);

/// True if users other than the owner can rename or remove files of others in this folder: the group or everybody may
/// write there, and it has no sticky bit.
bool is_open_to_renames(const struct stat& folder);

inline constexpr mode_t kPrivateFileMode = 0600;

/// When a written file is on its disk, which takes some milliseconds.
enum class OnDisk {
  Later,
  Now
};

/// Writes a small file atomically: writes a new file "PATH.new" with these permissions, and renames it over the old
/// one. Follows no link, and opens no existing file: "PATH.new" is removed first. Blocks as long as the file system
/// hangs. Fails with `System`. The new file gets owner and group of `old`, unless this is null, as far as this user
/// may give them; if its group is another one, that may do no more than all users.
[[nodiscard]] Result<> write_whole_file(const std::string& path, std::string_view text, mode_t mode = kPrivateFileMode,
                                        OnDisk on_disk = OnDisk::Later, const struct stat* old = nullptr);

/// A function that returns the text of the file at a path, or empty if it cannot be read. Code that decides by the
/// content of files gets it, and opens none itself.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;

struct Unmap {
  std::size_t bytes = 0;
  void operator()(void* memory) const { (void)::munmap(memory, bytes); }
};

/// Memory shared with processes forked later: the parent sees what they wrote, however they end.
template <typename Item>
using SharedArray = std::unique_ptr<Item[], Unmap>;

/// Maps zeroed memory; `attempt` begins the error message.
[[nodiscard]] Result<void*> map_shared(std::size_t bytes,
                                       std::string_view attempt = "cannot share memory with a process");

/// Maps `count` zeroed elements; `count` is not 0.
template <typename Item>
[[nodiscard]] Result<SharedArray<Item>> share_array(std::size_t count) {
  static_assert(std::is_trivial_v<Item>);
  const std::size_t bytes = count * sizeof(Item);
  return SharedArray<Item>(static_cast<Item*>(TRY(map_shared(bytes))), Unmap{bytes});
}

}  // namespace muster
