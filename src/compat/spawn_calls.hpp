#pragma once

// Python scripts that start the processes of their job themselves. Private to program/.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

struct SpawnCall {
  std::size_t line = 0;
  std::string callee;  ///< such as torch.multiprocessing.spawn, whatever the script calls it
  std::string
      count;  ///< as it is written, such as "nprocs=ngpus"; empty: as many as there are devices
  /// Whoever runs the script comes here: it stands under no condition but that it is the main module, and
  /// so do the calls of the function that it stands in.
  bool is_certain = false;
};

/// The first call that surely starts several processes, else the first that may. A call that a variable
/// of torchrun decides about, such as LOCAL_RANK, is none: such a script knows when it is started by a
/// launcher. Nothing is executed, and names are followed through imports only.
[[nodiscard]] std::optional<SpawnCall> find_spawn(std::string_view script);

}  // namespace muster
