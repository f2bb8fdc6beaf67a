#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Which words of a command line are the program, and which it is given.
struct ProgramFiles {
  /// Places of the words that are paths from there: a program, and the script that Python or a shell runs.
  std::vector<std::size_t> words;
  bool imports_from_here = false;  ///< Python's -m and -c look there for modules
  /// Where the program's own arguments begin, or those of the script that it runs. Empty: it may be a wrapper of something else.
  std::optional<std::size_t> arguments{};
};

/// `is_python_added`: the first word is an interpreter that the user has not written.
[[nodiscard]] ProgramFiles find_program_files(const std::vector<std::string>& program,
                                              bool is_python_added);

}  // namespace muster
