#pragma once

// muster in the roles that it has for mpirun: its remote shell, what waits on the other nodes, and what stands in front
// of the user's program. None of them is for people; docs/mpi.md tells who starts them.

#include "base/result.hpp"
#include "process/inherited.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace muster {

/// What such a process was given.
struct MpiRoleInput {
  std::vector<std::string> words;  ///< behind the one that names the role
  std::map<std::string, std::string> variables;
  const Inherited& inherited;
};

using MpiRole = Result<int> (*)(const MpiRoleInput& input);

/// The role that this command line asks for; nothing: it is no such command line.
[[nodiscard]] MpiRole find_mpi_role(std::span<char* const> argv);

/// mpirun's remote shell on node 0: has the command run by the daemon of its host, and stays until that has
/// ended. Fails when there is none within half a minute.
[[nodiscard]] Result<int> serve_as_agent(const MpiRoleInput& input);

/// On the other nodes: waits for the one command of an agent that knows the job's secret, and becomes it.
[[nodiscard]] Result<int> serve_as_daemon(const MpiRoleInput& input);

/// Becomes the user's program, with the environment of a rank.
[[nodiscard]] Result<int> serve_as_rank(const MpiRoleInput& input);

}  // namespace muster
