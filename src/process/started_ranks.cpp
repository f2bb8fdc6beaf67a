// Finds ranks by what mpirun tells them, in their environment.
#include "process/started_ranks.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <set>

namespace muster {
namespace {

/// Each rank has it, and what descends from it; mpirun and its daemons have not (Open MPI 4 and 5).
constexpr const char* kVariableOfRanks = "OMPI_COMM_WORLD_RANK";

bool has_variable_of_ranks(pid_t pid) {
  return variable_of(pid, kVariableOfRanks).has_value();
}

}  // namespace

bool signal_mpirun_ranks(pid_t starter, int signal) {
  std::set<pid_t> family;
  for (const Process& process : descendants(read_processes(), starter, {})) {
    if (!has_variable_of_ranks(process.pid)) {
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

std::vector<Process> left_by_ranks(const std::vector<Process>& all,
                                   pid_t root,
                                   const std::function<bool(pid_t)>& belongs_to_rank) {
  std::vector<Process> left;
  std::set<pid_t> family;
  for (const Process& process : descendants(all, root, {})) {
    const bool is_of_family = family.contains(process.parent);
    if (!is_of_family && !belongs_to_rank(process.pid)) {
      continue;
    }
    if (!is_of_family && process.parent != root) {
      return {};
    }
    family.insert(process.pid);
    left.push_back(process);
  }
  return left;
}

std::vector<Process> left_by_local_ranks() {
  // Inside a rank of another mpirun everything looks like one.
  const bool is_in_rank = has_variable_of_ranks(::getpid());
  const std::vector<pid_t> children = own_children();
  if (is_in_rank || std::none_of(children.begin(), children.end(), has_variable_of_ranks)) {
    return {};
  }
  return left_by_ranks(read_processes(), ::getpid(), has_variable_of_ranks);
}

}  // namespace muster
