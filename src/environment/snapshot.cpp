// Takes the snapshot. No other file reads variables from the process.
#include "environment/snapshot.hpp"

#include "base/text.hpp"
#include "environment/local_host.hpp"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace muster {
namespace {

std::string find_rank_table() {
  for (const char* const place : kRankTablePlaces) {
    if (::access(place, F_OK) == 0) {
      return place;
    }
  }
  return {};
}

}  // namespace

std::optional<std::string> Snapshot::variable(std::string_view name) const {
  const auto at = variables.find(std::string(name));
  return at == variables.end() ? std::nullopt : std::optional(at->second);
}

std::optional<Sourced<std::string>> sourced_variable(const Snapshot& snapshot, const std::string& name) {
  const auto value = snapshot.variable(name);
  return value ? std::optional(Sourced<std::string>{*value, from_variable(name)}) : std::nullopt;
}

/// Source: ModelArts, boot files of custom Ascend images; MindCluster, ascend-operator.
std::optional<Sourced<std::string>> find_table_file(const Snapshot& snapshot) {
  for (const char* const name : {"RANK_TABLE_FILE_V_1_0", "RANK_TABLE_FILE"}) {
    auto given = sourced_variable(snapshot, name);
    if (given && !given->value.empty()) {
      return given;
    }
  }
  if (!snapshot.rank_table.empty()) {
    return Sourced<std::string>{snapshot.rank_table, {SourceKind::File, "where controllers put it"}};
  }
  if (snapshot.has("MA_NUM_HOSTS") || snapshot.has("MA_VJ_NAME")) {  // ModelArts will write it there
    return Sourced<std::string>{kRankTablePlaces.front(), default_of("modelarts")};
  }
  return std::nullopt;
}

std::map<std::string, std::string> read_variables() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));  // the first one wins
    }
  }
  return variables;
}

void wipe_variable(const std::string& name) {
  const std::string start = name + "=";
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with(start)) {
      ::explicit_bzero(*entry + start.size(), text.size() - start.size());
    }
  }
}

Snapshot take_snapshot() {
  Snapshot snapshot;
  snapshot.variables = read_variables();
  std::array<char, HOST_NAME_MAX + 1> host_name{};
  if (::gethostname(host_name.data(), host_name.size() - 1) == 0) {
    snapshot.host_name = host_name.data();
  }
  std::array<char, PATH_MAX> directory{};
  if (::getcwd(directory.data(), directory.size()) != nullptr) {
    snapshot.working_directory = directory.data();
  }
  struct stat input {};
  snapshot.has_input = ::fstat(STDIN_FILENO, &input) == 0 && (S_ISREG(input.st_mode) || S_ISFIFO(input.st_mode));
  snapshot.devices = count_host_devices("");
  snapshot.cores = count_allowed_cores();
  snapshot.files = read_mounted_files(snapshot);
  snapshot.rank_table = find_rank_table();
  snapshot.addresses = Lazy(local_addresses);
  snapshot.interfaces = Lazy(local_interfaces);
  snapshot.device_view = Lazy(read_device_view);
  // Source: volcano.sh, job plugin "ssh" (pkg/controllers/job/plugins/ssh), its default place.
  constexpr const char* kPlace = "/root/.ssh/id_rsa";
  const bool is_volcano = snapshot.has("VC_TASK_INDEX") || snapshot.has("VK_TASK_INDEX");
  snapshot.volcano_ssh_key = is_volcano && ::access(kPlace, R_OK) == 0 ? kPlace : "";
  return snapshot;
}

// Finds this program's file through the kernel.

namespace {

bool is_program(const std::filesystem::path& file) {
  return ::access(file.c_str(), X_OK) == 0;
}

/// Searches a program as a shell does. Empty: not found.
std::filesystem::path folder_of(std::string_view argv0, std::string_view search_path) {
  if (argv0.find('/') != std::string_view::npos) {
    return std::filesystem::path(argv0).parent_path();
  }
  for (const std::string& folder : split(search_path, ':')) {
    if (is_program(std::filesystem::path(folder) / argv0)) {
      return folder;
    }
  }
  return {};
}

}  // namespace

std::string program_path() {
  std::error_code failed;
  const std::string path = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  const bool is_word = !failed && path.find_first_of(" \t\n:") == std::string::npos;
  return is_word ? path : "/proc/" + std::to_string(::getpid()) + "/exe";
}

std::array<std::string, 2> own_module_places() {
  std::error_code failed;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  return {(folder.parent_path() / "share/muster/python").string(), (folder.parent_path() / "python").string()};
}

std::string find_own_modules() {
  for (const std::string& place : own_module_places()) {
    if (::access((place + "/hfai/__init__.py").c_str(), R_OK) == 0) {
      return place;
    }
  }
  return {};
}

std::string find_own_python(std::string_view argv0, std::string_view search_path) {
  const std::filesystem::path bin = folder_of(argv0, search_path);
  const std::filesystem::path environment = bin / "..";
  std::error_code failed;
  const bool is_environment = !bin.empty() && (std::filesystem::exists(environment / "pyvenv.cfg", failed) ||
                                               std::filesystem::exists(environment / "conda-meta", failed));
  const std::filesystem::path python = bin / "python3";
  return is_environment && is_program(python) ? python.string() : std::string();
}

}  // namespace muster
