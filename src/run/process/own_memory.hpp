#pragma once

// Our own program in memory. Private to run/.

#include <chrono>

namespace muster {

/// Reads all of our program that has not been read yet, and has it stay in memory as far as we may (RLIMIT_MEMLOCK). The kernel
/// reads a page of it when it is needed first, and takes it away when memory is short: who comes upon such a page waits for
/// the file system that muster lies on, also where that hangs and he is to end the job for it. Takes 2 ms.
void hold_program_in_memory();

/// A job that has lasted so long is worth it.
inline constexpr std::chrono::seconds kWorthHolding{1};

}  // namespace muster
