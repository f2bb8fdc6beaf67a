#pragma once

// The ranks that mpirun and its daemons have started. Private to run/.

#include <sys/types.h>

namespace muster {

/// Sends a signal to each rank that descends from `starter`, and to its group. False: there is none.
bool signal_started_ranks(pid_t starter, int signal);

}  // namespace muster
