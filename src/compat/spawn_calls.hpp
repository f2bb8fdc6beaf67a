#pragma once

// Searches the lines of Python scripts for calls that start processes.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

struct SpawnCall {
  std::size_t line = 0;
  std::string callee;  ///< full name, such as torch.multiprocessing.spawn
  std::string count;   ///< as the script has it, such as "nprocs=ngpus"; empty: one for each device
};

/// Finds the first call that starts several processes, even if a run may not reach it. Ignores comments and strings.
/// Empty also if an `if` of the script asks for a variable of torchrun, such as LOCAL_RANK: then it knows launchers.
std::optional<SpawnCall> find_spawn(std::string_view script);

}  // namespace muster
