// Looks at files, and leaves alone what does not belong to this user.
#include "agent/import_files.hpp"

#include "base/file_io.hpp"
#include "base/text.hpp"
#include "standby/kept_imports.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace muster {
namespace {

/// A standby that comes later than the last node is of no use.
constexpr std::chrono::seconds kReadLimit{30};
constexpr std::chrono::seconds kWriteLimit{10};

std::optional<standby::FileState> state_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return std::nullopt;
  }
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return standby::FileState{path, status.st_size, status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec};
}

/// The notes of the file, if it is this user's alone to write, and what the notes depend on is as it was.
std::string read_file(const std::string& path, const ImportFiles::Of& of) {
  const UniqueFd file = open_untrusted_file(path);
  struct stat status {};
  const bool is_ours = file && ::fstat(file.get(), &status) == 0 && status.st_uid == ::geteuid() &&
                       (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!is_ours) {
    return "";
  }
  const std::string content = read_up_to(file.get(), standby::kMostNotes * 2).bytes;
  const std::string notes(standby::read_kept(content, of.key));
  const standby::Imports imports = standby::read_imports(notes, of.program);
  const auto is_unchanged = [](const standby::FileState& one) { return state_of(one.path) == one; };
  return !imports.files.empty() && std::ranges::all_of(imports.files, is_unchanged) ? notes : "";
}

}  // namespace

ImportFiles::Of ImportFiles::of(const standby::PythonProgram& program, const SpawnRequest& request) {
  std::error_code failed;
  const std::string folder =
      request.working_directory.empty() ? std::filesystem::current_path(failed).string() : request.working_directory;
  return {program, standby::kept_key(program, request, folder), request.executable};
}

void ImportFiles::read(std::vector<Of> programs, std::function<void(std::vector<standby::Imports>)> then) {
  const auto work = [programs, &variables = variables_] {
    std::string answer;  // each ends with a zero byte, which no notes have
    for (const Of& one : programs) {
      const std::string path = standby::kept_path(variables, one.key);
      answer += (path.empty() ? std::string() : read_file(path, one)) + '\0';
    }
    return answer;
  };
  const auto take = [programs, then = std::move(then)](const HelperTask::Answer& answer) {
    const std::vector<std::string> notes = split(answer.value_or(""), '\0');
    std::vector<standby::Imports> imports(programs.size());
    for (std::size_t i = 0; i < std::min(notes.size(), programs.size()); ++i) {
      imports[i] = standby::read_imports(notes[i], programs[i].program);
    }
    then(std::move(imports));
  };
  task_.start({work, kReadLimit, take});
}

void ImportFiles::write(const Of& program, const std::string& notes) {
  const std::string path = standby::kept_path(variables_, program.key);
  const auto work = [=] {
    std::error_code failed;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
    if (const auto interpreter = state_of(program.executable); interpreter && !failed) {
      (void)write_whole_file(path, standby::write_kept(program.key, notes + standby::note_of(*interpreter)));
    }
    return std::string();
  };
  if (!path.empty()) {
    task_.add({work, kWriteLimit, [](const HelperTask::Answer& /*answer*/) {}, {}, /*may_be_dropped=*/true});
  }
}

}  // namespace muster
