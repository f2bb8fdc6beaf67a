// Temporary files of one run.
#include "run_folder.hpp"

#include <muster/base/unique_fd.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace muster {

std::string make_temporary_folder(const std::string& temporary_folder, const std::string& name) {
  std::string path = temporary_folder + "/" + name + "_XXXXXX";
  return ::mkdtemp(path.data()) != nullptr ? path : std::string();
}

bool RunFolder::make(const std::string& temporary_folder) {
  path_ = make_temporary_folder(temporary_folder, "muster");
  return !path_.empty();
}

void RunFolder::remove() {
  if (!path_.empty() && ::rmdir(path_.c_str()) != 0) {  // empty is the usual case
    std::error_code ignored;  // what is left is a few bytes in a temporary folder
    std::filesystem::remove_all(path_, ignored);
  }
  path_.clear();
}

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
