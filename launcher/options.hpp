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

struct CommandLine {
  Command command = Command::Run;
  Settings settings;                 ///< flags, then MUSTER_* variables
  std::vector<std::string> program;  ///< the program and its arguments, untouched
};

/// Reads argv and the MUSTER_* variables of the snapshot. Nothing after the program is read as an
/// option. Fails with `BadUsage`, or `BadEnvironment` for a variable.
[[nodiscard]] Result<CommandLine> read_command_line(std::span<char* const> argv,
                                                    const Snapshot& snapshot);

/// True when a switch is on: given as a flag, or as MUSTER_<NAME>=1.
[[nodiscard]] bool is_on(const Settings& settings, std::string_view name);

// Texts for users, made from the table.
[[nodiscard]] std::string help_text();
[[nodiscard]] std::string man_page();
[[nodiscard]] Result<std::string> completion_script(const Sourced<std::string>& shell);

}  // namespace muster
