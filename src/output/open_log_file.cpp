// Log files: never truncated, never the reason for which a job ends.
#include "output/open_log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace muster {
namespace {

constexpr int kMostRotations = 100;
constexpr int kTries = 10;

bool exists(const std::string& path, int number) {
  return ::access((path + "." + std::to_string(number)).c_str(), F_OK) == 0;
}

/// Makes room for `path`: renames it to ".1" after moving ".1" to ".2", and so on. Beyond very many
/// nothing is moved: it gets the next free number.
void rotate(const std::string& path) {
  int last = 0;
  while (exists(path, last + 1)) {
    ++last;
  }
  if (last >= kMostRotations) {
    (void)::rename(path.c_str(), (path + "." + std::to_string(last + 1)).c_str());
    return;
  }
  for (int i = last; i > 0; --i) {
    (void)::rename((path + "." + std::to_string(i)).c_str(),
                   (path + "." + std::to_string(i + 1)).c_str());
  }
  (void)::rename(path.c_str(), (path + ".1").c_str());
}

}  // namespace

int OpenLogFile::create(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) {
    return error.value();
  }
  for (int i = 0; i < kTries; ++i) {  // another job may create the same file at the same time
    file_ =
        UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
    if (file_ || errno != EEXIST) {
      return file_ ? 0 : errno;
    }
    rotate(path);
  }
  return EEXIST;
}

}  // namespace muster
