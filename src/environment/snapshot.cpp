// Takes the snapshot. The only place in the program that reads variables from the process.
#include "environment/own_address.hpp"
#include "environment/snapshot.hpp"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace muster {
namespace {

/// Source: volcano.sh, job plugin "ssh" (pkg/controllers/job/plugins/ssh), its default place.
std::string find_volcano_ssh_key(const Snapshot& snapshot) {
  constexpr const char* kPlace = "/root/.ssh/id_rsa";
  const bool is_volcano = snapshot.has("VC_TASK_INDEX") || snapshot.has("VK_TASK_INDEX");
  return is_volcano && ::access(kPlace, R_OK) == 0 ? kPlace : "";
}

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

std::optional<Sourced<std::string>> sourced_variable(const Snapshot& snapshot,
                                                     const std::string& name) {
  const auto value = snapshot.variable(name);
  return value ? std::optional(Sourced<std::string>{*value, from_variable(name)}) : std::nullopt;
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
  snapshot.devices = count_host_devices("");
  snapshot.cores = count_allowed_cores();
  snapshot.files = read_mounted_files(snapshot);
  snapshot.rank_table = find_rank_table();
  snapshot.addresses = Lazy(local_addresses);
  snapshot.interfaces = Lazy(local_interfaces);
  snapshot.volcano_ssh_key = find_volcano_ssh_key(snapshot);
  return snapshot;
}

}  // namespace muster
