// Makes the folders before the variables that name them are set: PyTorch ends where it cannot make its pipe.
#include "agent/rank_folders.hpp"

#include "agent/run_folder.hpp"
#include "base/text.hpp"
#include "process/helper_process.hpp"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace muster {
namespace {

namespace fs = std::filesystem;

/// One digit for each folder: '1' if it was made.
std::string make_folders(const std::vector<std::string>& folders) {
  constexpr mode_t kOwnersAlone = 0700;
  std::string made;
  for (const std::string& folder : folders) {
    made += ::mkdir(folder.c_str(), kOwnersAlone) == 0 ? '1' : '0';
  }
  return made;
}

/// The variables and arguments that name the file follow it.
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
    folders.push_back(place + "/attempt_" + std::to_string(plan.placement.attempt) + "_rank_" +
                      to_string(worker.global_rank));
  }
  make_again(place);
  const auto make = [&folders] { return make_folders(folders); };
  const std::string made = is_in_memory(place) ? make() : HelperTask::wait_for({make, kTimeout}).value_or("");
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i] == '1') {
      plan.workers[i].own_folder = folders[i];
      move_error_file(plan.workers[i], run_folder);
    }
  }
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
