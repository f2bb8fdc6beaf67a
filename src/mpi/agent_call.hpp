#pragma once

// How mpirun calls the program that it takes for a remote shell, and what a rank that it starts is told.

#include "base/result.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster::mpi {

/// Said by muster to muster, which is not for people: as mpirun's remote shell, on a node that waits for mpirun,
/// and in front of the user's program.
inline constexpr const char* kAgentWord = "--mpi-agent";
inline constexpr const char* kDaemonWord = "--mpi-daemon";
inline constexpr const char* kRankWord = "--mpi-rank";

/// Variables of these processes. None of them reaches the user's program.
namespace variable {
inline constexpr const char* kSecret = "MUSTER_MPI_SECRET";          ///< which all nodes of a job share
inline constexpr const char* kEndpoint = "MUSTER_MPI_ENDPOINT";      ///< where a daemon listens
inline constexpr const char* kDaemons = "MUSTER_MPI_DAEMONS";        ///< where all of them do
inline constexpr const char* kHostfile = "MUSTER_MPI_HOSTFILE";      ///< the names of the hosts
inline constexpr const char* kShared = "MUSTER_MPI_SHM";             ///< a folder of this node's for shared memory
inline constexpr const char* kInterfaces = "MUSTER_MPI_INTERFACES";  ///< of this node, for the messages of its ranks
}  // namespace variable

/// What a remote shell is to do.
struct AgentCall {
  std::string host;
  std::string command;  ///< for a shell on that host
};

/// Reads what stands behind the agent's own words: options of ssh, the host, and the words of a command that the
/// shell there is to read as one text. Fails with `BadUsage` where one of the two is missing.
/// Source: Open MPI 4.1, orte/mca/plm/rsh; PRRTE 3, src/mca/plm/ssh.
[[nodiscard]] Result<AgentCall> parse_agent_call(const std::vector<std::string>& words);

/// The environment of the user's program where mpirun starts it: what it has, with the names of torchrun for what
/// mpirun calls OMPI_COMM_WORLD_*, and without what only the processes above are told.
[[nodiscard]] std::map<std::string, std::string> rank_environment(std::map<std::string, std::string> variables);

// What of node 0's environment mpirun takes to the ranks of other nodes.

/// "-x", NAME for each variable that is the user's: not those that say something about one node alone, nor those
/// that mpirun takes along or sets itself. Values are in no word: mpirun has them in its environment, and those of
/// `with_shell_names`.
[[nodiscard]] std::vector<std::string> exports_of(const std::map<std::string, std::string>& variables);

/// Those with a name that a shell would drop ("T.dot", "BASH_FUNC_f%%"), under names that it passes on.
[[nodiscard]] std::map<std::string, std::string> with_shell_names(const std::map<std::string, std::string>& variables);

/// Takes such names away, and gives the variables behind them back.
void restore_names(std::map<std::string, std::string>& variables);

}  // namespace muster::mpi
