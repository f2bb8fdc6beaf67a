#pragma once

// Programs that start the processes of a job: other launchers.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster {

/// What to write instead of a launcher.
struct SuggestedCommand {
  std::string line;              ///< the command line that means the same
  std::string on_nodes;          ///< where that is right for a job of several nodes; empty: on each
  bool knows_nodes = false;      ///< the launcher is told of the other nodes
  std::string nodes_variable{};  ///< it is told by this one too, if that is set
};

/// `name` is a program's or a Python module's, `arguments` is what stands behind it. Empty: it is no
/// launcher that is known.
[[nodiscard]] std::optional<SuggestedCommand> suggest_command(std::string_view name,
                                                              std::span<const std::string> arguments);

/// Words as a shell takes them.
[[nodiscard]] std::string as_command_line(std::span<const std::string> words);

/// "python3", "/usr/bin/python3.11".
[[nodiscard]] bool is_python(std::string_view word);

/// What stands behind the last slash.
[[nodiscard]] std::string_view base_name(std::string_view path);

// What Python or a shell is told to run, by the words of a command line.

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
