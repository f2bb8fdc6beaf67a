// Reads what may be anything.
#include "base/unique_fd.hpp"
#include "base/untrusted_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster {

std::string read_untrusted_file(const std::string& path, std::size_t limit) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return {};
  }
  std::string content(limit, '\0');
  std::size_t size = 0;
  while (size < limit) {
    const ssize_t taken = ::read(file.get(), content.data() + size, limit - size);
    if (taken <= 0) {
      break;
    }
    size += static_cast<std::size_t>(taken);
  }
  content.resize(size);
  return content;
}

}  // namespace muster
