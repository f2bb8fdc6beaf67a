// Looks whether what the imports depend on is as it was.
#include "agent/import_files.hpp"

#include "agent/kept_files.hpp"
#include "base/text.hpp"
#include "standby/kept_imports.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace muster {
namespace {

/// Limit for reading: a standby that comes after the last node is of no use.
constexpr std::chrono::seconds kReadLimit{30};
constexpr std::chrono::seconds kWriteLimit{10};

/// State of a folder: how many names it has, and a checksum of them. Leaves out the folder that Python itself adds.
standby::FileState state_of_folder(const std::string& path) {
  constexpr std::uint64_t kLargePrime = (std::uint64_t{1} << 61U) - 1;
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(path, failed)) {
    const std::string name = entry.path().filename().string();
    if (name != "__pycache__") {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  std::uint64_t remainder = 0;
  for (const char byte : join(names, "/")) {
    __extension__ using Wide = unsigned __int128;
    remainder = static_cast<std::uint64_t>((Wide{remainder} * 256 + static_cast<unsigned char>(byte)) % kLargePrime);
  }
  return {path, static_cast<std::int64_t>(names.size()), static_cast<std::int64_t>(remainder)};
}

/// State of a file or folder, in the form in which python/standby/sitecustomize.py notes it.
std::optional<standby::FileState> state_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return std::nullopt;
  }
  if (!S_ISREG(status.st_mode)) {
    return state_of_folder(path);
  }
  return state_of_file(path, status);
}

/// The notes in the file. Empty: another user may have written them, or what they depend on has changed.
std::string read_file(const std::string& path, const ImportFiles::Of& of) {
  const std::string content = read_kept_file(path, standby::kMostNotes * 2);
  const std::string notes(standby::read_kept(standby::kImports, content, of.key));
  const standby::Imports imports = standby::read_imports(notes);
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

void ImportFiles::read(const std::vector<Of>& programs, std::function<void(std::vector<standby::Imports>)> then) {
  const auto work = [programs, &variables = variables_] {
    std::string answer;  // each ends with a zero byte, which no notes have
    for (const Of& one : programs) {
      const std::string path = standby::kept_path(variables, standby::kImports, one.key);
      answer += (path.empty() ? std::string() : read_file(path, one)) + '\0';
    }
    return answer;
  };
  const auto take = [programs, then = std::move(then)](const HelperTask::Answer& answer) {
    const std::vector<std::string> notes = split(answer.value_or(""), '\0');
    std::vector<standby::Imports> imports(programs.size());
    for (std::size_t i = 0; i < std::min(notes.size(), programs.size()); ++i) {
      imports[i] = standby::read_imports(notes[i]);
    }
    then(std::move(imports));
  };
  task_.start({work, kReadLimit, take});
}

void ImportFiles::write(const Of& program, const std::string& notes) {
  const std::string path = standby::kept_path(variables_, standby::kImports, program.key);
  const auto work = [=] {
    if (const auto interpreter = state_of(program.executable)) {
      write_kept_file(path,
                      standby::write_kept(standby::kImports, program.key, notes + standby::note_of(*interpreter)));
    }
    return std::string();
  };
  if (!path.empty()) {
    task_.add({work, kWriteLimit, [](const HelperTask::Answer& /*answer*/) {}, {}, /*may_be_dropped=*/true});
  }
}

}  // namespace muster
