// Whether the report can be written is found out before anything is started.
#include <muster/report/report.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace muster {
namespace {

namespace fs = std::filesystem;

/// Why nothing can be written there; 0: it can. A report is written beside its place and renamed, so it
/// is the folder that counts, but for what is no plain file.
int obstacle(const std::string& path) {
  std::error_code unknown;  // a path that cannot be looked at is one to be made
  const fs::file_status status = fs::status(path, unknown);
  if (fs::is_directory(status)) {
    return EISDIR;
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0 ? 0 : errno;
  }
  std::error_code ignored;
  const fs::path resolved = fs::weakly_canonical(path, ignored);
  const fs::path folder = (ignored || resolved.empty() ? fs::path(path) : resolved).parent_path();
  const std::string name = folder.empty() ? "." : folder.string();
  return ::faccessat(AT_FDCWD, name.c_str(), W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

}  // namespace

Result<> prepare_report(const Sourced<std::string>& file) {
  if (const int error_number = obstacle(file.value)) {
    return wrong_value(
        file, "a file that can be written: " + std::generic_category().message(error_number));
  }
  std::error_code ignored;  // an older report must not be taken for this run's; none is fine
  if (fs::is_regular_file(file.value, ignored)) {
    fs::remove(file.value, ignored);
  }
  return {};
}

}  // namespace muster
