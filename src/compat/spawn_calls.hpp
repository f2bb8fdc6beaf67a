#pragma once

// Finds Python scripts that start the processes of their job themselves, and reads the commands of shell scripts.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct SpawnCall {
  std::size_t line = 0;
  std::string callee;  ///< full name, such as torch.multiprocessing.spawn
  std::string count;   ///< as the script has it, such as "nprocs=ngpus"; empty: one for each device
  /// Every run reaches the call: it and the calls of the function around it are under no condition, except that the
  /// script is the main module.
  bool is_certain = false;
};

/// The first call that certainly starts several processes, else the first that may. A call that depends on a variable
/// of torchrun, such as LOCAL_RANK, does not count: such a script knows that a launcher started it. Nothing is
/// executed, and names are followed through imports only.
[[nodiscard]] std::optional<SpawnCall> find_spawn(std::string_view script);

// A command of a shell script, as far as the text shows it.

struct ShellCommand {
  std::size_t line = 1;
  std::vector<std::string> words;  ///< without assignments in front; "$N" is not expanded
  bool is_conditional = false;     ///< not every run of the script reaches it
};

/// The commands in order, without comments and here-documents. Any text is accepted: text that is no shell script
/// gives odd commands, and no error.
[[nodiscard]] std::vector<ShellCommand> read_shell(std::string_view text);

}  // namespace muster
