// Reads a file that is waited for. Its file system may be slow: whoever asks waits for it.
#include <muster/base/unique_fd.hpp>
#include <muster/inputs/input.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace muster {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 28U;

/// 0, or why it is none that can be read whole.
int check_file(int file, std::size_t& size) {
  struct stat status {};
  if (::fstat(file, &status) != 0) {
    return errno;
  }
  if (S_ISDIR(status.st_mode)) {
    return EISDIR;
  }
  size = static_cast<std::size_t>(status.st_size);
  return !S_ISREG(status.st_mode) ? ENOTSUP : size > kMostBytes ? EFBIG : 0;
}

}  // namespace

Found look_at(const Input& input) {
  const UniqueFd file(::open(input.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::size_t size = 0;
  Found found;
  found.error_number = file ? check_file(file.get(), size) : errno;
  if (found.error_number != 0) {
    return found;
  }
  found.content.resize(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t taken = ::read(file.get(), found.content.data() + done, size - done);
    if (taken < 0 && errno != EINTR) {
      found.error_number = errno;
      break;
    }
    if (taken == 0) {
      break;
    }
    done += taken > 0 ? static_cast<std::size_t>(taken) : 0;
  }
  found.content.resize(done);
  return found;
}

}  // namespace muster
