// Looks at files, and leaves alone what does not belong to this user.
#include "agent/import_files.hpp"

#include "base/file_io.hpp"
#include "base/text.hpp"
#include "standby/kept_imports.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace muster {
namespace {

/// A standby that comes later than the last node is of no use.
constexpr std::chrono::seconds kReadLimit{30};
constexpr std::chrono::seconds kWriteLimit{10};

/// The number of the names in a folder, and the remainder of their bytes as one large number. Leaves out what Python adds by itself.
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

/// As python/standby/sitecustomize.py notes it.
std::optional<standby::FileState> state_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return std::nullopt;
  }
  if (!S_ISREG(status.st_mode)) {
    return state_of_folder(path);
  }
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return standby::FileState{path, status.st_size, status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec};
}

/// The notes of the file, if it is this user's alone to write, and what the notes depend on is as it was.
std::string read_file(const std::string& path, const ImportFiles::Of& of) {
  const UniqueFd file = open_untrusted_file(path);
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !is_writable_by_alone(status, ::geteuid())) {
    return "";
  }
  const std::string content = read_up_to(file.get(), standby::kMostNotes * 2).bytes;
  const std::string notes(standby::read_kept(content, of.key));
  const standby::Imports imports = standby::read_imports(notes);
  const auto is_unchanged = [](const standby::FileState& one) { return state_of(one.path) == one; };
  return !imports.files.empty() && std::ranges::all_of(imports.files, is_unchanged) ? notes : "";
}

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
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    std::error_code unknown;
    const auto age = std::filesystem::file_time_type::clock::now() - entry.last_write_time(unknown);
    if (!unknown && age > kKept && entry.is_regular_file(unknown)) {
      std::filesystem::remove(entry.path(), unknown);
    }
  }
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
      const std::string path = standby::kept_path(variables, one.key);
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
  const std::string path = standby::kept_path(variables_, program.key);
  const auto work = [=] {
    if (const auto interpreter = state_of(program.executable); interpreter && make_folders(path)) {
      (void)write_whole_file(path, standby::write_kept(program.key, notes + standby::note_of(*interpreter)));
      remove_old_files(std::filesystem::path(path).parent_path());
    }
    return std::string();
  };
  if (!path.empty()) {
    task_.add({work, kWriteLimit, [](const HelperTask::Answer& /*answer*/) {}, {}, /*may_be_dropped=*/true});
  }
}

}  // namespace muster
