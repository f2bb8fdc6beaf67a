// Reads and writes what belongs to this user, and leaves the rest alone.
#include "agent/kept_files.hpp"

#include "base/file_io.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

namespace muster {
namespace {

/// Makes the folders above the file, which only this user may enter. False: the place belongs to somebody else, such as the home
/// folder of another user in a shell of root.
bool make_folders(const std::filesystem::path& path) {
  constexpr mode_t kPrivateFolder = 0700;
  std::vector<std::filesystem::path> missing;
  std::filesystem::path there = path.parent_path();
  struct stat status {};
  for (; ::stat(there.c_str(), &status) != 0 && there.has_relative_path(); there = there.parent_path()) {
    missing.push_back(there);
  }
  const bool is_ours = status.st_uid == ::geteuid();
  return is_ours && std::all_of(missing.rbegin(), missing.rend(), [](const std::filesystem::path& folder) {
           return ::mkdir(folder.c_str(), kPrivateFolder) == 0 || errno == EEXIST;
         });
}

/// Removes the files of programs that have not been learned for a long time.
void remove_old_files(const std::filesystem::path& folder) {
  constexpr std::chrono::hours kKept{24 * 90};
  constexpr std::size_t kNameBytes = 16;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    std::error_code unknown;
    const auto age = std::filesystem::file_time_type::clock::now() - entry.last_write_time(unknown);
    const std::string name = entry.path().filename().string();
    const bool is_ours = name.size() == kNameBytes && name.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!unknown && is_ours && age > kKept && entry.is_regular_file(unknown)) {
      std::filesystem::remove(entry.path(), unknown);
    }
  }
}

}  // namespace

standby::FileState state_of_file(const std::string& path, const struct stat& status) {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return {path, status.st_size, status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec};
}

std::string read_kept_file(const std::string& path, std::size_t most) {
  const UniqueFd file = open_untrusted_file(path);
  struct stat status {};
  const bool is_ours = file && ::fstat(file.get(), &status) == 0 && is_writable_by_alone(status, ::geteuid());
  return is_ours ? read_up_to(file.get(), most).bytes : "";
}

void write_kept_file(const std::string& path, std::string_view content) {
  if (make_folders(path)) {
    (void)write_whole_file(path, content);
    remove_old_files(std::filesystem::path(path).parent_path());
  }
}

}  // namespace muster
