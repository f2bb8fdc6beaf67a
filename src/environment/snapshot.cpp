// Takes the snapshot. The only place in the program that reads variables from the process.
#include <muster/base/text.hpp>
#include <muster/environment/snapshot.hpp>

#include <dirent.h>
#include <limits.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>

namespace muster {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

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

std::vector<std::string> read_host_lines(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (const std::string_view host = trim(line); !host.empty()) {
      lines.emplace_back(host);
    }
  }
  return lines;
}

/// Volcano's svc plugin mounts one file per task at this place.
std::map<std::string, std::vector<std::string>> read_volcano_hosts() {
  const std::string folder = "/etc/volcano";
  constexpr std::string_view kEnding = ".host";
  std::map<std::string, std::vector<std::string>> hosts;
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(folder.c_str()));
  if (!directory) {
    return hosts;
  }
  while (const dirent* entry = ::readdir(directory.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name(entry->d_name);
    if (name.size() > kEnding.size() && name.ends_with(kEnding)) {
      hosts[std::string(name.substr(0, name.size() - kEnding.size()))] =
          read_host_lines(folder + "/" + std::string(name));
    }
  }
  return hosts;
}

/// Source: volcano.sh, job plugin "ssh" (pkg/controllers/job/plugins/ssh), its default place.
std::string find_volcano_ssh_key(const Snapshot& snapshot) {
  constexpr const char* kPlace = "/root/.ssh/id_rsa";
  const bool is_volcano = snapshot.has("VC_TASK_INDEX") || snapshot.has("VK_TASK_INDEX");
  return is_volcano && ::access(kPlace, R_OK) == 0 ? kPlace : "";
}

}  // namespace

std::optional<std::string> Snapshot::variable(std::string_view name) const {
  const auto at = variables.find(std::string(name));
  return at == variables.end() ? std::nullopt : std::optional(at->second);
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
  snapshot.devices = count_host_devices();
  snapshot.cores = count_allowed_cores();
  snapshot.volcano_hosts = read_volcano_hosts();
  snapshot.volcano_ssh_key = find_volcano_ssh_key(snapshot);
  return snapshot;
}

}  // namespace muster
