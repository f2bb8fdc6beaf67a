#pragma once

// Recognizes programs that start the processes of a job themselves, and finds what Python or a shell runs.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster {

/// The command that replaces a launcher.
struct SuggestedCommand {
  std::string line;              ///< the equivalent command line of muster
  std::string where{};           ///< follows the line, such as " without muster"
  std::string on_nodes{};        ///< the line, and where to use it in a job of several nodes; empty: on each node
  bool knows_nodes = false;      ///< the launcher's options name the other nodes
  std::string nodes_variable{};  ///< the variable that names them too, if it is set
};

/// A variable by which a launcher learns the job. `text` has a template's placeholders.
struct LauncherVariable {
  std::string_view name;
  std::string_view text;
  bool is_of_several_nodes = false;  ///< only a job of several nodes has it
};

/// A launcher that muster starts once on each node, where it starts the workers itself.
struct StartedOnce {
  std::string name;                             ///< as typed, without folders: "llamafactory-cli train"
  std::span<const LauncherVariable> variables;  ///< none: it cannot be told of other nodes
};

/// `name` and `arguments` as below. Empty if it is no such launcher.
std::optional<StartedOnce> find_started_once(std::string_view name, std::span<const std::string> arguments);

/// Finds the replacement of a launcher. `name` is a program's or a Python module's, `arguments` are the words behind
/// it. Empty if it is no known launcher.
std::optional<SuggestedCommand> suggest_command(std::string_view name, std::span<const std::string> arguments);

/// The words as a shell command line, quoted where needed.
std::string as_command_line(std::span<const std::string> words);

/// True for "python3", "/usr/bin/python3.11".
bool is_python(std::string_view word);

/// The part of a path behind the last slash.
std::string_view base_name(std::string_view path);

/// The one of script, module and code that a command line of Python runs.
struct PythonRun {
  std::string script;  ///< a path
  std::string module;
  std::string code;
  std::span<const std::string> arguments{};  ///< the words behind it
};

/// Reads `words`, which begin with Python. A module that runs a script, as in `-m pdb train.py`, becomes that script.
PythonRun read_python_words(std::span<const std::string> words);

/// The script or code that a command line of a shell runs, as indexes of the words; 0: none.
struct ShellWords {
  std::size_t script = 0;
  std::size_t code = 0;  ///< the argument of -c
};

ShellWords read_shell_words(std::span<const std::string> words);

}  // namespace muster
