#pragma once

// The command line: one table of options, from which parsing, MUSTER_* variables, --help, the man
// page and the completions are made.

#include <muster/base/result.hpp>
#include <muster/environment/settings.hpp>
#include <muster/environment/snapshot.hpp>

#include <span>
#include <string>
#include <vector>

namespace muster {

/// One option. Everything about it that a user can read stands here.
struct Option {
  const char* name;               ///< long name without dashes
  char letter;                    ///< short form, or '\0'
  const char* argument;           ///< what its value is called; nullptr: a switch
  const char* section;            ///< heading in --help
  const char* help;               ///< one or two sentences
  const char* choices = nullptr;  ///< what completions offer, separated by blanks
};

[[nodiscard]] std::span<const Option> option_table();

enum class Command {
  Run,
  Plan,
  Explain
};

/// An option of the front ends, which prints their table for the documentation.
inline constexpr const char* kPrintOptions = "print-options";

struct FrontEnd;

struct CommandLine {
  Command command = Command::Run;
  Settings settings;                 ///< flags, then MUSTER_* variables
  std::vector<std::string> program;  ///< the program and its arguments, untouched
  // Of another launcher's command line:
  const FrontEnd* front_end = nullptr;  ///< whose command line it was; empty: muster's own
  bool is_python_script = false;        ///< the program is for Python, whatever its name ends with
  std::vector<std::string> worker_arguments;  ///< what the original adds to the program's, with
                                              ///< {placeholders}
  std::vector<std::string> notices;  ///< sentences about what is done otherwise than asked for
};

/// Reads argv and the MUSTER_* variables of the snapshot. Nothing after the program is read as an
/// option. Fails with `BadUsage`, or `BadEnvironment` for a variable.
[[nodiscard]] Result<CommandLine> read_command_line(std::span<char* const> argv,
                                                    const Snapshot& snapshot);

/// True when a switch is on: given as a flag, or as MUSTER_<NAME>=1.
[[nodiscard]] bool is_on(const Settings& settings, std::string_view name);

/// True when a text is wanted and no job, so that nothing about a job can be wrong.
[[nodiscard]] bool asks_for_text(const Settings& settings);

/// Breaks text between words into lines of at most `width`.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// An option in --help: its spelling on the left, its text wrapped on the right.
[[nodiscard]] std::string help_entry(const std::string& spelled, std::string_view help);

/// The completions of a command with these options; `words` are offered as its first word.
[[nodiscard]] Result<std::string> completion_script(const Sourced<std::string>& shell,
                                                    const std::string& command,
                                                    std::span<const Option> options,
                                                    const std::string& words);

// Texts for users, made from the table.
[[nodiscard]] std::string help_text();
[[nodiscard]] std::string man_page();
[[nodiscard]] Result<std::string> completion_script(const Sourced<std::string>& shell);

}  // namespace muster
