#pragma once

// Runs muster in its roles below mpirun: the remote shell, the daemon on the other nodes, and the wrapper of the
// user's program. Users start none of them; docs/mpi.md says which process does.

#include "base/result.hpp"
#include "process/inherited.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace muster {

/// Input of a role.
struct MpiRoleInput {
  std::vector<std::string> words;  ///< arguments after the one that names the role
  std::map<std::string, std::string> variables;
  const Inherited& inherited;
};

using MpiRole = Result<int> (*)(const MpiRoleInput& input);

/// Role that this command line names; null: none.
MpiRole find_mpi_role(std::span<char* const> argv);

/// mpirun's remote shell on node 0: has the daemon of its host run the command, and stays until that command has
/// ended. Fails if no daemon listens within half a minute.
[[nodiscard]] Result<int> serve_as_agent(const MpiRoleInput& input);

/// On the other nodes: waits for one command of an agent that knows the job's secret, and execs it.
[[nodiscard]] Result<int> serve_as_daemon(const MpiRoleInput& input);

/// Execs the user's program with the environment of an MPI rank.
[[nodiscard]] Result<int> serve_as_rank(const MpiRoleInput& input);

}  // namespace muster
