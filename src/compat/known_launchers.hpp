#pragma once

// Recognizes programs that start the processes of a job themselves, and finds what Python or a shell runs.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster {

/// The command line of muster that replaces a launcher.
struct SuggestedCommand {
  std::string line;              ///< the equivalent command line of muster
  std::string where{};           ///< words that follow the line, such as " without muster"
  std::string on_nodes{};        ///< the line for several nodes, and where to type it; empty: on each node
  bool knows_nodes = false;      ///< the launcher's options already name the other nodes
  std::string nodes_variable{};  ///< a variable that also names the other nodes, if it is set
};

/// A variable that tells a launcher about the job. `text` has a template's placeholders.
struct LauncherVariable {
  std::string_view name;
  std::string_view text;
  bool is_of_several_nodes = false;  ///< only a job of several nodes has it
};

/// A launcher that muster starts once on each node, and that starts the workers itself.
struct StartedOnce {
  std::string name;                             ///< as typed, without folders: "llamafactory-cli train"
  std::span<const LauncherVariable> variables;  ///< none: it cannot learn about other nodes
};

/// Finds such a launcher; parameters as for `suggest_command`. Empty: it is none.
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

/// The script, module or code that a command line of Python runs; only one of them is set.
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
