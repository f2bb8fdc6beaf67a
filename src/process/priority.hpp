#pragma once

// Makes a process give way to all others, and lets it compete again.

#include <sys/types.h>

namespace muster {

/// Lets a process use only CPUs (SCHED_IDLE) and disks that nobody else uses, and makes it the first that the kernel kills for
/// want of memory. False: its CPU priority is as it was, since we could not raise it again (setpriority(2)).
bool lower_priority(pid_t process);

/// Gives the process and all its threads the priorities that this process has.
void restore_priority(pid_t process);

}  // namespace muster
