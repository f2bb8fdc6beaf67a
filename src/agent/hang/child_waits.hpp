#pragma once

// Finds out whether the processes that a rank has started read something in pieces. Private to src/agent.

#include "process/descendants.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace muster {

/// Numbers of waits of each thread of the processes below a rank, by the folder of the thread in /proc.
struct ChildWaits {
  std::chrono::steady_clock::time_point at;
  std::map<std::string, std::uint64_t> times;
};

/// Reads /proc. `below` may have `program` itself, which is left out.
ChildWaits read_child_waits(pid_t program, const std::vector<Process>& below);

/// True if a thread below the rank has waited ten times a second since `before`. A process that reads from a network or in
/// small pieces, such as a worker of a data loader, uses hardly any CPU, and recv(2) is not among its bytes, but it waits
/// for each piece. Threads that only look whether others live wait once a second or less, however many there are. Lets
/// half a second pass since `before`, but not more than until `deadline`.
bool have_waited_often(const ChildWaits& before, pid_t program, const std::vector<Process>& below,
                       std::chrono::steady_clock::time_point deadline);

}  // namespace muster
