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

/// The first call that starts several processes, whether or not a run reaches it. Comments and strings do not count.
/// Empty as well if an `if` of the script asks for a variable of torchrun, such as LOCAL_RANK: it knows launchers.
std::optional<SpawnCall> find_spawn(std::string_view script);

}  // namespace muster
