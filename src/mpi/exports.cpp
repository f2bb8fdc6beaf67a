// Which variables go with the ranks.
#include <muster/mpi/exports.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace muster::mpi {
namespace {

/// Of the node on which they are.
constexpr auto kOfOneNode = std::to_array<std::string_view>({"_",
                                                             "HOME",
                                                             "HOSTNAME",
                                                             "LD_LIBRARY_PATH",
                                                             "LOGNAME",
                                                             "MAIL",
                                                             "OLDPWD",
                                                             "PATH",
                                                             "PWD",
                                                             "SHELL",
                                                             "SHLVL",
                                                             "TEMP",
                                                             "TMP",
                                                             "TMPDIR",
                                                             "USER"});
/// Of mpirun and what it is made of, of muster, and of sessions.
constexpr auto kOfOthers = std::to_array<std::string_view>(
    {"MUSTER_", "OMPI_", "OPAL_", "ORTE_", "PMIX_", "PMI_", "PRTE_", "SSH_", "XDG_"});

/// A name as a shell has it; of others mpirun makes something else.
bool is_name(std::string_view name) {
  return !name.empty() && (name.front() < '0' || name.front() > '9') &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

bool is_users(std::string_view name) {
  return is_name(name) &&
         std::find(kOfOneNode.begin(), kOfOneNode.end(), name) == kOfOneNode.end() &&
         std::none_of(kOfOthers.begin(), kOfOthers.end(), [&](std::string_view start) {
           return name.starts_with(start);
         });
}

}  // namespace

std::vector<std::string> exports_of(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> words;
  for (const auto& [name, value] : variables) {
    if (is_users(name)) {
      words.insert(words.end(), {"-x", name});
    }
  }
  return words;
}

}  // namespace muster::mpi
