// The command line of a remote shell, and the environment of a rank.
#include "base/text.hpp"
#include "mpi/agent_call.hpp"
#include "mpi/exports.hpp"

#include <string_view>
#include <utility>

namespace muster::mpi {
namespace {

/// Options of ssh that have a value: in the same word, or as the next one.
/// Source: ssh(1), OpenSSH 9.2.
constexpr std::string_view kWithValue = "BbcDEeFIiJLlmOopQRSWw";

/// True of "-p" and "-vp", whose value is the next word.
bool takes_next(std::string_view option) {
  for (std::size_t i = 1; i < option.size(); ++i) {
    if (kWithValue.find(option[i]) != std::string_view::npos) {
      return i + 1 == option.size();
    }
  }
  return false;
}

/// A single program takes the shell's place: a signal for one of them is not one for the other.
std::string without_shell(std::string command) {
  const std::size_t start = command.find_first_not_of(' ');
  const bool is_plain = start != std::string::npos &&
                        command.find_first_of(" =;&|<>()\"'`$", start) == command.find(' ', start);
  return is_plain ? "exec" + command.insert(0, command.front() == ' ' ? "" : " ") : command;
}

/// The place of the rank, as torchrun and Horovod call it.
void add_names_of_readers(std::map<std::string, std::string>& variables) {
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

std::map<std::string, std::string> rank_environment(std::map<std::string, std::string> variables) {
  // mpirun would give the ranks of all nodes the folder of node 0.
  if (const auto shared = variables.find(variable::kShared); shared != variables.end()) {
    const std::string folder = shared->second;
    variables["OMPI_MCA_btl_vader_backing_directory"] = folder;
    variables["OMPI_MCA_btl_sm_backing_directory"] = folder;
  }
  if (const auto own = variables.find(variable::kInterfaces);
      own != variables.end() && !own->second.empty() &&
      !variables.contains("OMPI_MCA_btl_tcp_if_exclude")) {  // Open MPI would take neither
    variables.emplace("OMPI_MCA_btl_tcp_if_include", own->second);
  }
  for (const char* const name : {variable::kSecret,
                                 variable::kEndpoint,
                                 variable::kDaemons,
                                 variable::kHostfile,
                                 variable::kShared,
                                 variable::kInterfaces}) {
    variables.erase(name);
  }
  restore_names(variables);
  // Open MPI 4.1 that is not where it was built: mpirun hands on the one to all nodes, and ranks demand both.
  if (const auto prefix = variables.find("PMIX_INSTALL_PREFIX"); prefix != variables.end()) {
    variables.emplace("OPAL_PREFIX", prefix->second);
  }
  add_names_of_readers(variables);
  return variables;
}

}  // namespace muster::mpi
