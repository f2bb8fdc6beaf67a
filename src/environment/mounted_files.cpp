// Files that platforms mount for their jobs, or whose path they put into a variable. Their text is part of
// the snapshot, so that a platform's reader parses a value and opens nothing.
#include "files.hpp"

#include <muster/environment/snapshot.hpp>

#include <array>
#include <fstream>

namespace muster {
namespace {

/// A host list of a million names; more is no list of hosts.
constexpr std::size_t kMostBytes = 64U << 20U;

/// Files at a place of their own: all of `folder` whose names end so, or are this.
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

/// Variables whose value is the path of a file.
constexpr std::array<const char*, 3> kVariables = {{
    "OMPI_MCA_orte_default_hostfile",  // kubeflow/mpi-operator: these three name one file
    "I_MPI_HYDRA_HOST_FILE",
    "HYDRA_HOST_FILE",
}};

void read_file(std::map<std::string, std::string>& files, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 64 * 1024> block{};
  while (file && text.size() <= kMostBytes) {
    file.read(block.data(), block.size());
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.eof()) {  // else it is a folder, cannot be read, or never ends
    files.insert_or_assign(path, std::move(text));
  }
}

}  // namespace

std::map<std::string, std::string> read_mounted_files(const Snapshot& snapshot) {
  std::map<std::string, std::string> files;
  for (const Place& place : kPlaces) {
    for_each_entry(place.folder, [&](std::string_view name) {
      if (name.ends_with(place.ending)) {
        read_file(files, std::string(place.folder) + "/" + std::string(name));
      }
    });
  }
  for (const char* const variable : kVariables) {
    const std::string path = snapshot.variable(variable).value_or("");
    if (path.starts_with('/')) {
      read_file(files, path);
    }
  }
  return files;
}

}  // namespace muster
