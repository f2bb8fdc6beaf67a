#pragma once

// Our own program in memory. Private to run/.

namespace muster {

/// Has the kernel read all of our program that it has not read yet, which may take as long as a file system wants.
void read_program();

/// Has our program stay in memory as far as we may (RLIMIT_MEMLOCK). The kernel
/// reads a page of it when it is needed first, and takes it away when memory is short: who comes upon such a page waits for
/// the file system that muster lies on, also where that hangs and he is to end the job for it. Takes 2 ms when it was read
/// just now.
void hold_program_in_memory();

}  // namespace muster
