#pragma once

// Parses mpirun's call of its remote shell, and builds the environment of the ranks that mpirun starts.

#include "base/result.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster::mpi {

/// Internal first words of muster's command lines: kAgentWord as mpirun's remote shell, kDaemonWord on a node that
/// waits for mpirun, kRankWord in front of the user's program.
inline constexpr const char* kAgentWord = "--mpi-agent";
inline constexpr const char* kDaemonWord = "--mpi-daemon";
inline constexpr const char* kRankWord = "--mpi-rank";

/// Variables for the processes with these command lines, removed before the user's program starts.
namespace variable {
inline constexpr const char* kSecret = "MUSTER_MPI_SECRET";      ///< secret that all nodes of a job share
inline constexpr const char* kEndpoint = "MUSTER_MPI_ENDPOINT";  ///< address on which one daemon listens
inline constexpr const char* kDaemons = "MUSTER_MPI_DAEMONS";    ///< addresses of all daemons
inline constexpr const char* kHostfile = "MUSTER_MPI_HOSTFILE";  ///< host names
inline constexpr const char* kShared = "MUSTER_MPI_SHM";         ///< this node's directory for shared memory
inline constexpr const char* kInterfaces =
    "MUSTER_MPI_INTERFACES";  ///< this node's interfaces for messages between ranks
}  // namespace variable

/// One call of the remote shell.
struct AgentCall {
  std::string host;
  std::string command;  ///< to be run by a shell on that host
};

/// Reads the arguments that mpirun gives its remote shell: ssh options, the host, and the words of a command, which
/// the shell there reads as one text. Fails with `BadUsage` where host or command is missing. Source: Open MPI 4.1,
/// orte/mca/plm/rsh; PRRTE 3, src/mca/plm/ssh.
[[nodiscard]] Result<AgentCall> parse_agent_call(const std::vector<std::string>& words);

/// Environment of an MPI rank started by mpirun: `variables` without those that only muster's processes above the
/// rank use, and with the values of OMPI_COMM_WORLD_* under torchrun's and Horovod's names as well.
std::map<std::string, std::string> environment_of_mpi_rank(std::map<std::string, std::string> variables);

// Variables of node 0 that mpirun passes to the ranks on other nodes.

/// Arguments "-x", NAME for each of the user's variables, except those that describe a single node and those that
/// mpirun passes or sets itself. The values stay out of the command line: mpirun finds them in its environment, like
/// those of `with_shell_names`.
std::vector<std::string> exports_of(const std::map<std::string, std::string>& variables);

/// The variables with names that a shell would drop ("T.dot", "BASH_FUNC_f%%"), under names that it keeps.
std::map<std::string, std::string> with_shell_names(const std::map<std::string, std::string>& variables);

/// Undoes `with_shell_names`: replaces those names by the original ones.
void restore_names(std::map<std::string, std::string>& variables);

}  // namespace muster::mpi
