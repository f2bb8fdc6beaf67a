#pragma once

// What Python or a shell is told to run, by the words of a command line. Private to program/.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace muster {

/// What Python is told to run.
struct PythonRun {
  std::string script;  ///< a path
  std::string module;
  std::string code;
  std::span<const std::string> arguments{};  ///< behind it, to the end of the words
};

/// `words` begin with Python. A module that runs a script, as in `-m pdb train.py`, is looked through.
[[nodiscard]] PythonRun read_python_words(std::span<const std::string> words);

/// What a shell is told to run, as places among the words; 0: no such thing.
struct ShellWords {
  std::size_t script = 0;
  std::size_t code = 0;  ///< of -c
};

[[nodiscard]] ShellWords read_shell_words(std::span<const std::string> words);

[[nodiscard]] bool is_shell(std::string_view name);

}  // namespace muster
