// Chooses where compilers' caches are on this node.
#include "compile_cache_request.hpp"

#include "base/file_io.hpp"
#include "base/text.hpp"
#include "compile_cache/cache_table.hpp"
#include "environment/mounts.hpp"
#include "process/helper_process.hpp"
#include "requests.hpp"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

namespace muster {
namespace {

constexpr std::chrono::seconds kFolderTimeout{2};
constexpr const char* kNone = "!";                             // stands for "no folder"
constexpr std::size_t kMostPasswords = std::size_t{1} << 20U;  // bytes

/// Why a folder on this file system would not help: it takes the job's memory, or it is no disk of this node. Empty: it would.
std::string problem_of_disk(const std::string& place) {
  struct statfs disk {};
  if (::statfs(place.c_str(), &disk) != 0) {
    return system_error("it cannot be read", errno).message;
  }
  const auto type = static_cast<unsigned long>(disk.f_type) & 0xFFFFFFFFUL;
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC ? "it takes the job's memory"
         : !network_type_of(place).empty()          ? "it is no disk of this node"
                                                    : "";
}

/// Why other users could replace our folder by renaming it or one above it; empty: they cannot. `place` has no links.
std::string problem_of_parents(const std::filesystem::path& place) {
  for (std::filesystem::path there = place;; there = there.parent_path()) {
    struct stat status {};
    if (::stat(there.c_str(), &status) != 0) {
      return system_error("it cannot be read", errno).message;
    }
    const bool is_trusted = status.st_uid == 0 || status.st_uid == ::geteuid();
    if (!is_trusted || is_open_to_renames(status)) {
      return "other users can replace files in '" + there.string() + "'";
    }
    if (there == there.root_path()) {
      return "";
    }
  }
}

/// Why the folder cannot be used; empty: it can.
std::string problem_of_folder(const std::string& place, const std::string& folder, bool makes_folder) {
  constexpr mode_t kOwnersAlone = 0700;
  for (std::string problem : {problem_of_disk(place), problem_of_parents(place)}) {
    if (!problem.empty()) {
      return problem;
    }
  }
  if (makes_folder && ::mkdir(folder.c_str(), kOwnersAlone) != 0 && errno != EEXIST) {
    return system_error("no folder can be made there", errno).message;
  }
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) {
    return errno == ENOENT && ::access(place.c_str(), W_OK | X_OK) == 0 ? "" : "no folder can be made there";
  }
  const bool is_ours = S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 022U) == 0;
  return is_ours ? "" : "'" + folder + "' belongs to somebody else";
}

/// The folder in the first place that is fit for it, or kNone; then a line end, and why earlier places are not fit.
std::string choose_cache_folder(const std::vector<std::string>& places, bool makes_folder) {
  std::string problems;
  for (const std::string& named : places) {
    std::error_code failed;
    const std::filesystem::path whole = std::filesystem::canonical(named, failed);
    const std::string place = failed ? named : whole.string();
    std::string folder = place + "/muster-cache-" + std::to_string(::geteuid());
    const std::string problem = problem_of_folder(place, folder, makes_folder);
    if (problem.empty()) {
      return folder.append("\n").append(problems);
    }
    problems.append(problems.empty() ? "" : "; ").append(place).append(": ").append(problem);
  }
  return std::string(kNone).append("\n").append(problems);
}

std::vector<std::string> places_for_folder(const Snapshot& snapshot) {
  std::vector<std::string> places;
  const std::string named = snapshot.variable("TMPDIR").value_or("");
  if (named.starts_with('/')) {
    places.push_back(std::filesystem::path(named).lexically_normal().string());
  }
  places.insert(places.end(), {"/tmp", "/var/tmp"});
  return places;
}

/// The user's name as it stands in the name of Inductor's folder: found as by Python's getpass, but only the password
/// file is read, since a directory service may hang. Empty: the variables name another user, as after `su`.
std::string name_of_user(const Snapshot& snapshot) {
  std::string name;
  for (const char* const variable : {"LOGNAME", "USER", "LNAME", "USERNAME"}) {
    name = name.empty() ? snapshot.variable(variable).value_or("") : name;
  }
  const bool is_given = !name.empty();
  for (const std::string& line : split(read_untrusted_file("/etc/passwd", kMostPasswords), '\n')) {
    const std::vector<std::string> fields = split(line, ':');
    const bool is_user = fields.size() > 2;
    const bool is_ours = is_user && fields[2] == std::to_string(::geteuid());
    if (is_given && is_user && fields[0] == name && !is_ours) {
      return "";
    }
    name = !is_given && is_ours ? fields[0] : name;
  }
  std::ranges::replace_if(
      name, [](char one) { return contains(std::string_view("\\/:*?\"<>|"), one); }, '_');
  return name;
}

}  // namespace

Result<std::optional<Sourced<std::string>>> read_cache_store(const Sourced<std::string>& given) {
  if (given.value == "off") {
    return std::optional<Sourced<std::string>>();
  }
  const std::string path = TRY(read_file_name(given));
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(path, failed);
  return std::optional(Sourced<std::string>{failed ? path : whole.lexically_normal().string(), given.source});
}

CacheOptions add_compile_caches(PlanInput& input, CacheOptions options, bool makes_folder) {
  if (!options.store) {
    return options;
  }
  auto& decisions = input.cluster.decisions;
  const std::string& source = options.store->source.name;
  const auto work = [places = places_for_folder(input.snapshot), makes_folder] {
    return choose_cache_folder(places, makes_folder);
  };
  const std::string answer =
      HelperTask::wait_for({work, kFolderTimeout}).value_or(kNone + std::string("\na disk does not answer"));
  std::string folder = answer.substr(0, answer.find('\n'));
  const std::string problems = answer.substr(folder.size() + 1);
  if (folder == kNone) {
    const std::string why = "this node has no place for them: " + problems;
    input.cluster.notices.push_back("compile caches: " + why + "; going on without");
    decisions.push_back({"compile_cache", "off", why});
    return options;
  }
  if (problems.empty()) {
    options.user = name_of_user(input.snapshot);  // the folder is where Python has its temporary files
  } else {
    input.cluster.notices.push_back("compile caches are in '" + folder + "', not in " + problems);
  }
  decisions.push_back({"compile_cache", options.store->value, source});
  for (const compile_cache::CacheRow& row : compile_cache::builtin_table().rows) {
    if (row.variable.empty()) {
      const std::string place = place_of(compile_cache::builtin_table(), row.folder + "/", options.user);
      const std::filesystem::path path = (std::filesystem::path(folder) / place).lexically_normal().parent_path();
      decisions.push_back({"compile_cache." + row.folder, place.empty() ? "off" : path.string(), source});
      continue;
    }
    const std::string field = "compile_cache." + row.variable;
    const auto exported = input.job.exported.find(row.variable);
    if (exported != input.job.exported.end()) {
      decisions.push_back({field, exported->second, "-x of mpirun"});
    } else if (const auto own = input.snapshot.variable(row.variable)) {
      decisions.push_back({field, *own, row.variable});
    } else {
      input.job.unless_set[row.variable] = folder + "/" + row.folder;
      decisions.push_back({field, folder + "/" + row.folder, source});
    }
  }
  options.folder = std::move(folder);
  return options;
}

}  // namespace muster
