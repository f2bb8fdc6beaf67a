#pragma once

// The commands of a shell script, as far as they can be seen without running it. Private to program/.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct ShellCommand {
  std::size_t line = 1;
  std::vector<std::string> words;  ///< without assignments in front; "$N" stays as it is
  bool is_conditional = false;     ///< not everybody who runs the script comes here
};

/// In their order, without comments and here-documents. Any text is taken: what is no shell script gives
/// other commands, and no error.
[[nodiscard]] std::vector<ShellCommand> read_shell(std::string_view text);

}  // namespace muster
