// Log files: never truncated, never the reason for which a job ends.
#include "log_file.hpp"

#include <muster/base/write_all.hpp>

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

Error cannot_create(const std::string& path, int error_number) {
  return system_error("cannot create the log file '" + path + "'", error_number);
}

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

Result<LogFile> LogFile::create(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) {
    return cannot_create(path, error.value());
  }
  for (int i = 0; i < kTries; ++i) {  // another job may create the same file at the same time
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
    if (file) {
      return LogFile(path, std::move(file));
    }
    if (errno != EEXIST) {
      return cannot_create(path, errno);
    }
    rotate(path);
  }
  return cannot_create(path, EEXIST);
}

std::string LogFile::write(std::string_view bytes) {
  const WriteResult written = write_all(file_.get(), bytes);
  const bool is_first = missing_bytes_ == 0 && written.missing > 0;
  missing_bytes_ += written.missing;
  return is_first ? "cannot write '" + path_ +
                        "': " + std::generic_category().message(written.error_number) +
                        ", going on without it"
                  : "";
}

}  // namespace muster
