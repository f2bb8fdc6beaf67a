// Parses the command line of a remote shell, and builds the environment of a rank.
#include "modes/agent_call.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace muster::mpi {
namespace {

/// Options of ssh that have a value: in the same word, or as the next one.
/// Source: ssh(1), OpenSSH 9.2.
constexpr std::string_view kWithValue = "BbcDEeFIiJLlmOopQRSWw";

/// True for "-p" and "-vp", whose value is the next word.
bool takes_next(std::string_view option) {
  for (std::size_t i = 1; i < option.size(); ++i) {
    if (kWithValue.find(option[i]) != std::string_view::npos) {
      return i + 1 == option.size();
    }
  }
  return false;
}

/// Replaces the shell by a single program (exec): a signal to the shell would not reach the program.
std::string without_shell(std::string command) {
  const std::size_t start = command.find_first_not_of(' ');
  const bool is_plain =
      start != std::string::npos && command.find_first_of(" =;&|<>()\"'`$", start) == command.find(' ', start);
  return is_plain ? "exec" + command.insert(0, command.front() == ' ' ? "" : " ") : command;
}

/// Adds the rank's numbers under the names that torchrun and Horovod use.
void add_torchrun_and_horovod_names(std::map<std::string, std::string>& variables) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"OMPI_COMM_WORLD_RANK", "RANK"},
      {"OMPI_COMM_WORLD_SIZE", "WORLD_SIZE"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "LOCAL_RANK"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "LOCAL_WORLD_SIZE"},
      {"OMPI_COMM_WORLD_RANK", "HOROVOD_RANK"},
      {"OMPI_COMM_WORLD_SIZE", "HOROVOD_SIZE"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "HOROVOD_LOCAL_RANK"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "HOROVOD_LOCAL_SIZE"},
  };
  for (const auto& [theirs, name] : kNames) {
    if (const auto value = variables.find(theirs); value != variables.end()) {
      variables[name] = value->second;
    }
  }
  variables["HOROVOD_CONTROLLER"] = "mpi";
  variables.emplace("HOROVOD_MPI_THREADS_DISABLE", "1");
}

}  // namespace

Result<AgentCall> parse_agent_call(const std::vector<std::string>& words) {
  std::size_t at = 0;
  while (at < words.size() && words[at].size() > 1 && words[at].front() == '-') {
    at += takes_next(words[at]) ? 2 : 1;
  }
  if (at + 1 >= words.size()) {
    return Error{ErrorKind::BadUsage,
                 join(std::vector<std::string>{kAgentWord}, " ") +
                     " is what mpirun is told to call: it needs a host and a command, as ssh does"};
  }
  AgentCall call{words[at].substr(words[at].rfind('@') + 1), words[at + 1]};
  for (std::size_t i = at + 2; i < words.size(); ++i) {
    call.command += ' ' + words[i];
  }
  call.command = without_shell(std::move(call.command));
  return call;
}

std::map<std::string, std::string> environment_of_mpi_rank(std::map<std::string, std::string> variables) {
  // mpirun would give the ranks of all nodes the directory of node 0.
  if (const auto shared = variables.find(variable::kShared); shared != variables.end()) {
    const std::string folder = shared->second;
    variables["OMPI_MCA_btl_vader_backing_directory"] = folder;
    variables["OMPI_MCA_btl_sm_backing_directory"] = folder;
  }
  if (const auto own = variables.find(variable::kInterfaces);
      own != variables.end() && !own->second.empty() &&
      !variables.contains("OMPI_MCA_btl_tcp_if_exclude")) {  // Open MPI refuses both together
    variables.emplace("OMPI_MCA_btl_tcp_if_include", own->second);
  }
  for (const char* const name : {variable::kSecret, variable::kEndpoint, variable::kDaemons, variable::kHostfile,
                                 variable::kShared, variable::kInterfaces}) {
    variables.erase(name);
  }
  restore_names(variables);
  // For a relocated Open MPI 4.1, mpirun sets one of these on all nodes, and ranks require both.
  if (const auto prefix = variables.find("PMIX_INSTALL_PREFIX"); prefix != variables.end()) {
    variables.emplace("OPAL_PREFIX", prefix->second);
  }
  add_torchrun_and_horovod_names(variables);
  return variables;
}

// Selects the variables that mpirun passes to the ranks.

namespace {

/// Variables that describe a single node. They are not passed to the ranks, because their values would be wrong on other nodes.
constexpr auto kOfOneNode =
    std::to_array<std::string_view>({"_", "HOME", "HOSTNAME", "LD_LIBRARY_PATH", "LOGNAME", "MAIL", "OLDPWD", "PATH",
                                     "PWD", "SHELL", "SHLVL", "TEMP", "TMP", "TMPDIR", "USER"});
/// Variables of mpirun and its components, of muster, and of login sessions. They are not passed, because each of these
/// programs sets its own for the processes that it starts.
constexpr auto kOfOthers =
    std::to_array<std::string_view>({"MUSTER_", "OMPI_", "OPAL_", "ORTE_", "PMIX_", "PMI_", "PRTE_", "SSH_", "XDG_"});

/// Prefix of a packed name, in which "_2e" stands for '.' and so on.
constexpr std::string_view kPacked = "MUSTER_MPI_NAME_";
constexpr int kSixteen = 16;

/// True for a name that a shell accepts; mpirun changes other names, too.
bool is_name(std::string_view name) {
  return !name.empty() && (name.front() < '0' || name.front() > '9') &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter_or_digit(c) || c == '_'; });
}

std::string pack(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string packed(kPacked);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_letter_or_digit(c)) {
      packed += c;
    } else {
      packed.append(1, '_').append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 0xfU]);
    }
  }
  return packed;
}

/// Parses "2e" at the front; empty: no hexadecimal byte.
std::optional<char> read_byte(std::string_view text) {
  const std::string_view digits = text.substr(0, 2);
  unsigned char byte = 0;
  const char* const end = digits.data() + digits.size();
  const bool is_whole = digits.size() == 2 && std::from_chars(digits.data(), end, byte, kSixteen).ptr == end;
  return is_whole ? std::optional(static_cast<char>(byte)) : std::nullopt;
}

/// Empty: not a result of `pack`.
std::optional<std::string> unpack(std::string_view packed) {
  if (!packed.starts_with(kPacked)) {
    return std::nullopt;
  }
  packed.remove_prefix(kPacked.size());
  std::string name;
  while (!packed.empty()) {
    const bool is_code = packed.front() == '_';
    const auto byte = is_code ? read_byte(packed.substr(1)) : packed.front();
    if (!byte) {
      return std::nullopt;
    }
    name += *byte;
    packed.remove_prefix(is_code ? 3 : 1);
  }
  return name;
}

bool is_users(std::string_view name) {
  return !contains(kOfOneNode, name) &&
         std::ranges::none_of(kOfOthers, [&](std::string_view start) { return name.starts_with(start); });
}

}  // namespace

std::vector<std::string> exports_of(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> words;
  for (const auto& [name, value] : variables) {
    if (!name.empty() && is_users(name)) {
      words.insert(words.end(), {"-x", is_name(name) ? name : pack(name)});
    }
  }
  return words;
}

std::map<std::string, std::string> with_shell_names(const std::map<std::string, std::string>& variables) {
  std::map<std::string, std::string> packed;
  for (const auto& [name, value] : variables) {
    if (!name.empty() && !is_name(name)) {
      packed.emplace(pack(name), value);
    }
  }
  return packed;
}

void restore_names(std::map<std::string, std::string>& variables) {
  const auto first = variables.lower_bound(std::string(kPacked));
  auto last = first;
  std::map<std::string, std::string> restored;
  for (; last != variables.end() && last->first.starts_with(kPacked); ++last) {
    if (auto name = unpack(last->first)) {
      restored.emplace(std::move(*name), last->second);
    }
  }
  variables.erase(first, last);
  variables.merge(restored);  // -x NAME=VALUE uses the original name
}

}  // namespace muster::mpi
