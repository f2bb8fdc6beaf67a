// Temporary files of one run.
#include "agent/run_folder.hpp"

#include "base/text.hpp"
#include "process/briefly.hpp"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <system_error>

namespace muster {
namespace {

/// Where Linux keeps shared memory, in which processes of one machine speak with each other.
constexpr const char* kSharedMemory = "/dev/shm";

std::string template_of(const std::string& place, const std::string& name) {
  return place + "/" + name + "_XXXXXX";
}

void remove_with_content(const std::string& path) {
  if (::rmdir(path.c_str()) != 0) {  // empty is the usual case
    std::error_code ignored;         // what is left is a few bytes in a temporary folder
    std::filesystem::remove_all(path, ignored);
  }
}

}  // namespace

Result<std::string> make_temporary_folder(const std::string& temporary_folder,
                                          const std::string& name) {
  constexpr std::chrono::seconds kPatience{1};
  const auto make = [&] {
    std::string path = template_of(temporary_folder, name);
    return ::mkdtemp(path.data()) != nullptr ? path : std::to_string(errno);
  };
  auto answer = ask_with_timeout(make, {}, kPatience);
  if (!answer) {
    return Error{ErrorKind::System, "its file system does not answer"};
  }
  if (const auto error_number = parse_integer(*answer, 0, std::numeric_limits<int>::max())) {
    return Error{ErrorKind::System, std::generic_category().message(*error_number)};
  }
  return std::move(*answer);
}

bool RunFolder::make_in_memory() {
  struct statfs place {};
  std::string path = template_of(kSharedMemory, "muster");
  is_in_memory_ = ::statfs(kSharedMemory, &place) == 0 && place.f_type == TMPFS_MAGIC &&
                  ::mkdtemp(path.data()) != nullptr;
  path_ = is_in_memory_ ? path : "";
  return is_in_memory_;
}

Result<> RunFolder::make_below(const std::string& temporary_folder) {
  auto made = make_temporary_folder(temporary_folder, "muster");
  if (!made) {
    return made.error();
  }
  path_ = std::move(*made);
  return {};
}

void RunFolder::remove() {
  constexpr std::chrono::milliseconds kPatience{200};
  if (is_in_memory_) {
    remove_with_content(path_);
  } else if (!path_.empty()) {
    run_with_timeout([this] { remove_with_content(path_); }, {}, kPatience);
  }
  path_.clear();
}

void make_again(const std::string& folder) {
  constexpr mode_t kOwnersAlone = 0700;
  if (folder.starts_with(std::string(kSharedMemory) + "/")) {
    (void)::mkdir(folder.c_str(), kOwnersAlone);  // nearly always it is there
  }
}

}  // namespace muster
