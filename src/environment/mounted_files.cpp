// Reads files that platforms mount for their jobs, or name in a variable. Their text is part of the snapshot, so that
// a platform's reader parses a value and opens nothing.
#include "environment/mounted_files.hpp"

#include "base/text.hpp"
#include "environment/snapshot.hpp"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

namespace muster {

// Reads small files of /proc and /sys. A missing file is empty: each reader knows what that means.

std::vector<std::string> entries_of(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), &::closedir);
  std::vector<std::string> names;
  while (directory) {
    const dirent* const entry = ::readdir(directory.get());  // NOLINT(concurrency-mt-unsafe)
    if (entry == nullptr) {
      break;
    }
    names.emplace_back(entry->d_name);
  }
  return names;
}

std::optional<int> number_behind(std::string_view prefix, std::string_view name) {
  return name.starts_with(prefix) ? parse_integer(name.substr(prefix.size()), 0, 1'000'000) : std::nullopt;
}

std::vector<int> numbered_entries(const std::string& folder, std::string_view prefix) {
  std::vector<int> numbers;
  for (const std::string& name : entries_of(folder)) {
    if (const auto number = number_behind(prefix, name)) {
      numbers.push_back(*number);
    }
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return std::string(trim(line));
}

std::map<std::string, unsigned long long> read_properties(const std::string& path) {
  std::map<std::string, unsigned long long> properties;
  std::ifstream file(path);
  std::string name;
  for (unsigned long long value = 0; file >> name >> value;) {
    properties[name] = value;
  }
  return properties;
}

std::map<std::string, std::string> read_fields(const std::string& path) {
  std::map<std::string, std::string> fields;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos) {
      fields.emplace(trim(line.substr(0, colon)), trim(line.substr(colon + 1)));
    }
  }
  return fields;
}

namespace {

/// A host list of a million names; a larger file is no host list.
constexpr std::size_t kMostBytes = 64U << 20U;

/// Files in a fixed directory: all names with this ending, or this one name.
struct Place {
  const char* folder;
  const char* ending;
};

constexpr auto kPlaces = std::to_array<Place>({
    // volcano-sh/volcano, job plugin "svc"
    {kVolcanoFolder, kHostFileEnding},
    // Amazon SageMaker, "How Amazon SageMaker Provides Training Information"
    {"/opt/ml/input/config", "resourceconfig.json"},
});

/// Files with a fixed path.
constexpr std::array<const char*, 1> kFiles = {"/etc/hccn.conf"};  // of Ascend's driver: the addresses of the devices

/// Variables whose value is the path of a file.
constexpr std::array<const char*, 5> kVariables = {{
    "PBS_NODEFILE",
    "LSB_DJOB_HOSTFILE",
    "OMPI_MCA_orte_default_hostfile",  // kubeflow/mpi-operator: these three name one file
    "I_MPI_HYDRA_HOST_FILE",
    "HYDRA_HOST_FILE",
}};

/// Endings of variables that have the path of a host list, for any batch system.
constexpr auto kEndings = std::to_array<std::string_view>(
    {"_NODEFILE", "_NODE_FILE", "_HOSTFILE", "_HOST_FILE", "_MACHINEFILE", "_MACHINE_FILE", "_FILE_NODES"});

/// Variables whose value is a descriptor. Its "text" is the target of its link, such as "socket:[4711]", which is
/// equal in all processes that inherited it.
constexpr std::array<const char*, 1> kDescriptors = {"HYDI_CONTROL_FD"};  // of Hydra's proxy

void read_file(std::map<std::string, std::string>& files, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) {  // the usual case; the block costs a start sixteen pages
    return;
  }
  std::string text;
  std::array<char, 65'536> block{};
  while (file && text.size() <= kMostBytes) {
    file.read(block.data(), block.size());
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.eof()) {  // else it is a directory, is unreadable, or never ends
    files.insert_or_assign(path, std::move(text));
  }
}

void read_descriptor(std::map<std::string, std::string>& files, const std::string& number) {
  const std::string path = "/proc/self/fd/" + number;
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(path, error);
  if (!error) {
    files.insert_or_assign(path, target.string());
  }
}

void read_place(std::map<std::string, std::string>& files, const Place& place) {
  for (const std::string& name : entries_of(place.folder)) {
    if (name.ends_with(place.ending)) {
      read_file(files, std::string(place.folder) + "/" + name);
    }
  }
}

}  // namespace

bool names_host_file(std::string_view variable) {
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return variable.ends_with(ending); });
}

std::map<std::string, std::string> read_mounted_files(const Snapshot& snapshot) {
  std::map<std::string, std::string> files;
  for (const Place& place : kPlaces) {
    read_place(files, place);
  }
  for (const char* const path : kFiles) {
    read_file(files, path);
  }
  for (const char* const variable : kVariables) {
    const std::string path = snapshot.variable(variable).value_or("");
    if (path.starts_with('/')) {
      read_file(files, path);
    }
  }
  for (const auto& variable : snapshot.variables) {
    if (names_host_file(variable.first) && variable.second.starts_with('/') && !files.contains(variable.second)) {
      read_file(files, variable.second);
    }
  }
  for (const char* const variable : kDescriptors) {
    if (const auto number = snapshot.variable(variable)) {
      read_descriptor(files, *number);
    }
  }
  return files;
}

}  // namespace muster
