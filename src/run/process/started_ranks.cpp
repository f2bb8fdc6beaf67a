// Finds ranks by what mpirun tells them, in their environment.
#include "started_ranks.hpp"

#include "descendants.hpp"

#include <unistd.h>

#include <csignal>
#include <set>

namespace muster {
namespace {

/// Each rank has it, and what descends from it; mpirun and its daemons have not.
constexpr const char* kVariableOfRanks = "OMPI_COMM_WORLD_RANK";

}  // namespace

bool signal_started_ranks(pid_t starter, int signal) {
  std::set<pid_t> family;
  for (const Process& process : descendants(read_processes(), starter, {})) {
    if (!variable_of(process.pid, kVariableOfRanks)) {
      continue;
    }
    family.insert(process.pid);
    if (family.contains(process.parent)) {
      continue;  // parents come first: this one belongs to a rank, which says what becomes of it
    }
    if (::getpgid(process.pid) == process.pid) {
      (void)::kill(-process.pid, signal);
    } else {
      signal_exactly(process, signal);
    }
  }
  return !family.empty();
}

}  // namespace muster
