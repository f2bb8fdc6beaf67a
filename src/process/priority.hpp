#pragma once

// Makes a process give way to all others, and lets it compete again.

#include <sys/types.h>

namespace muster {

/// Lets a process use only CPUs (SCHED_IDLE) and disks that nobody else uses, and makes it the first to be killed if
/// memory runs out. False: its CPU priority stays, because we could not raise it again (setpriority(2)).
bool lower_priority(pid_t process);

/// Gives the process and all its threads the priorities that this process has.
void restore_priority(pid_t process);

}  // namespace muster
