#pragma once

// What ends an agent that has no guard any more and whose loop does not turn. Private to run/.

#include <sys/types.h>

#include <chrono>

namespace muster {

/// An agent whose guard was killed reads that in its loop, and kills the job. One that turns without end reads nothing.
/// From here on, when the guard dies, the kernel kills this process so much later, and with it the workers, unless it puts
/// that off. To be called once, in the agent. SIGPIPE, which tells it, ends nothing.
void arm_parent_death_timer(pid_t guard, std::chrono::seconds patience = std::chrono::seconds(5));

/// The guard is gone, and the loop turns.
void feed_parent_death_timer();

}  // namespace muster
