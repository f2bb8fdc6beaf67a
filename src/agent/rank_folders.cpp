// Makes the folders before the variables that name them are set: PyTorch ends where it cannot make its pipe.
#include "agent/rank_folders.hpp"

#include "agent/run_folder.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "process/helper_process.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kMineAlone = 0700;
constexpr mode_t kFoundByName = 0711;
constexpr mode_t kWrittenByAll = 01733;  ///< with the sticky bit: nobody removes or renames what is another's

/// True where a worker may drop to another user.
bool is_root() {
  return ::geteuid() == 0;
}

/// Makes the folder of a rank. chmod sets the mode, because mkdir would apply the umask.
bool make_rank_folder(const std::string& folder) {
  return ::mkdir(folder.c_str(), kMineAlone) == 0 && (!is_root() || ::chmod(folder.c_str(), kWrittenByAll) == 0);
}

/// One digit for each folder: '1' if it was made.
std::string make_rank_folders(const std::string& place, const std::vector<std::string>& folders) {
  std::string made;
  if (is_root() && ::chmod(place.c_str(), kFoundByName) != 0) {
    return made;
  }
  for (const std::string& folder : folders) {
    made += make_rank_folder(folder) ? '1' : '0';
  }
  return made;
}

/// "attempt_0_rank_3"; in root's jobs followed by 32 random digits. Empty: they cannot be drawn.
std::string name_folder(const Placement& placement, GlobalRank rank) {
  std::string name = "attempt_" + std::to_string(placement.attempt) + "_rank_" + to_string(rank);
  if (is_root()) {
    const auto digits = random_digits();
    name = digits ? name + "_" + *digits : "";
  }
  return name;
}

/// Moves the error file of a worker into the rank's own folder, and adapts the variables and arguments that name it.
void move_error_file(WorkerPlan& worker, const std::string& run_folder) {
  const fs::path file = worker.error_file;
  if (run_folder.empty() || file.parent_path() != run_folder) {
    return;
  }
  const std::string old = std::exchange(worker.error_file, worker.own_folder + "/" + file.filename().string());
  for (auto& [name, text] : worker.environment) {
    replace_all(text, old, worker.error_file);
  }
  for (std::string& argument : worker.argv) {
    replace_all(argument, old, worker.error_file);
  }
}

}  // namespace

void give_rank_folders(LaunchPlan& plan, const std::string& run_folder, const std::string& place) {
  constexpr std::chrono::seconds kTimeout{1};
  if (place.empty()) {
    return;
  }
  std::vector<std::string> folders;
  for (const WorkerPlan& worker : plan.workers) {
    folders.push_back(place + "/" + name_folder(plan.placement, worker.global_rank));
  }
  if (!is_root()) {  // root's shared memory is not cleared, so another user may have made it
    make_again(place);
  }
  const auto make = [&] { return make_rank_folders(place, folders); };
  const std::string made = is_in_memory(place) ? make() : HelperTask::wait_for({make, kTimeout}).value_or("");
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i] == '1') {
      plan.workers[i].own_folder = folders[i];
      move_error_file(plan.workers[i], run_folder);
    }
  }
}

UniqueFd open_rank_file(const std::string& path, struct stat& status) {
  UniqueFd file = open_untrusted_file(path);
  return file && ::fstat(file.get(), &status) == 0 && status.st_nlink <= 1 ? std::move(file) : UniqueFd();
}

std::string read_rank_file(const std::string& path, std::size_t limit) {
  struct stat status {};
  const UniqueFd file = open_rank_file(path, status);
  return file ? read_up_to(file.get(), limit).bytes : std::string();
}

bool is_core_file(const std::string& name) {
  return name == "core" || name.starts_with("core.");
}

bool has_rank_file(const std::string& place, bool (*is_wanted)(const std::string& name)) {
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(place, failed), end; !failed && entry != end; entry.increment(failed)) {
    struct stat status {};
    const bool is_there = ::lstat(entry->path().c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
    if (is_there && is_wanted(entry->path().filename().string())) {
      return true;
    }
  }
  return false;
}

}  // namespace muster
