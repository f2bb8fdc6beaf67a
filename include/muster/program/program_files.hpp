#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace muster {

/// What a program needs of the folder in which it is started.
struct ProgramFiles {
  /// Places of the words that are paths from there: a program, and the script that Python or a shell runs.
  std::vector<std::size_t> words;
  bool imports_from_here = false;  ///< Python's -m and -c look there for modules
};

/// `is_python_added`: the first word is an interpreter that the user has not written.
[[nodiscard]] ProgramFiles find_program_files(const std::vector<std::string>& program,
                                              bool is_python_added);

}  // namespace muster
