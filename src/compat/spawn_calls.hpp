#pragma once

// Searches the lines of Python scripts for calls that start processes, and the lines of shell scripts for commands.

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
};

/// The first call that starts several processes, whether or not a run reaches it. Comments and strings do not count.
/// Empty as well if an `if` of the script asks for a variable of torchrun, such as LOCAL_RANK: it knows launchers.
[[nodiscard]] std::optional<SpawnCall> find_spawn(std::string_view script);

/// A command of a shell script, as far as the text shows it.
struct ShellCommand {
  std::size_t line = 1;
  std::vector<std::string> words;  ///< without assignments in front; "$N" is not expanded
};

/// The commands in order, without comments. Any text is accepted.
[[nodiscard]] std::vector<ShellCommand> read_shell(std::string_view script);

}  // namespace muster
