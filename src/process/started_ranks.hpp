#pragma once

// The ranks that mpirun and its daemons have started. Private to run/.

#include "process/descendants.hpp"

#include <sys/types.h>

#include <functional>
#include <vector>

namespace muster {

/// Sends a signal to each rank that descends from `starter`, and to its group. False: there is none.
bool signal_mpirun_ranks(pid_t starter, int signal);

/// What ranks have left behind among the descendants of `root`, who adopts orphans: its children that belong to ranks, and what
/// descends from them, parents first. None while a rank lives: then a process that belongs to one has another parent.
[[nodiscard]] std::vector<Process> left_by_ranks(const std::vector<Process>& all,
                                                 pid_t root,
                                                 const std::function<bool(pid_t)>& belongs_to_rank);

/// The same of this process, as /proc shows it. A look of microseconds where no orphan of a rank is here.
[[nodiscard]] std::vector<Process> left_by_local_ranks();

}  // namespace muster
