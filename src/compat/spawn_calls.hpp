#pragma once

// Python scripts that start the processes of their job themselves.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct SpawnCall {
  std::size_t line = 0;
  std::string callee;  ///< such as torch.multiprocessing.spawn, whatever the script calls it
  std::string count;   ///< as it is written, such as "nprocs=ngpus"; empty: as many as there are devices
  /// Whoever runs the script comes here: it stands under no condition but that it is the main module, and
  /// so do the calls of the function that it stands in.
  bool is_certain = false;
};

/// The first call that surely starts several processes, else the first that may. A call that a variable
/// of torchrun decides about, such as LOCAL_RANK, is none: such a script knows when it is started by a
/// launcher. Nothing is executed, and names are followed through imports only.
[[nodiscard]] std::optional<SpawnCall> find_spawn(std::string_view script);

// The commands of a shell script, as far as they can be seen without running it.

struct ShellCommand {
  std::size_t line = 1;
  std::vector<std::string> words;  ///< without assignments in front; "$N" stays as it is
  bool is_conditional = false;     ///< not everybody who runs the script comes here
};

/// In their order, without comments and here-documents. Any text is taken: what is no shell script gives
/// other commands, and no error.
[[nodiscard]] std::vector<ShellCommand> read_shell(std::string_view text);

}  // namespace muster
