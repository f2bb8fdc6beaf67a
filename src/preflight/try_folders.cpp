// Tries each folder with a file that nobody else sees.
#include "preflight/try_folders.hpp"

#include "base/file_io.hpp"
#include "base/random.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace muster::preflight {
namespace {

/// 0, or the number of the error.
int try_folder(const std::filesystem::path& folder) {
  const auto number = random_number();
  const std::string path = (folder / (".muster-preflight-" + std::to_string(number ? *number : 0))).string();
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) {
    return errno;
  }
  if (::unlink(path.c_str()) != 0) {  // before anything that may hang
    file.reset();                     // some file systems do not remove an open file
    return ::unlink(path.c_str()) == 0 ? 0 : errno;
  }
  std::array<char, 4'096> bytes{};
  bytes.fill('m');
  const std::array<char, 4'096> written = bytes;
  errno = ENOSPC;  // what a short write means
  if (::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return errno;
  }
  if (::fdatasync(file.get()) != 0 && errno != EINVAL) {  // some file systems tell only now that they are full
    return errno;
  }
  bytes.fill(0);
  errno = EIO;
  const bool is_read = ::pread(file.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  return is_read && bytes == written ? 0 : errno;
}

}  // namespace

std::string try_folders(const std::map<std::string, std::string>& folders) {
  std::string result;
  for (const auto& [what, folder] : folders) {
    std::error_code missing;  // then it is not the job's yet
    if (!std::filesystem::is_directory(folder, missing)) {
      continue;
    }
    result = "succeed";
    if (const int error = try_folder(folder); error != 0) {
      return what + ": " + std::generic_category().message(error);
    }
  }
  return result;
}

}  // namespace muster::preflight
