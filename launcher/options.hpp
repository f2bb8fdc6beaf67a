#pragma once

// muster's own options and its command line.

#include "base/read_text.hpp"
#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "compat/command_line.hpp"
#include "options/option.hpp"

#include <span>
#include <string>

namespace muster {

[[nodiscard]] OptionTable own_options();

/// Reads argv and the MUSTER_* variables of the snapshot. Nothing after the program is read as an
/// option. Fails with `BadUsage`, or `BadEnvironment` for a variable. `read_text` reads the files that another launcher's
/// command line names.
[[nodiscard]] Result<CommandLine> read_command_line(std::span<char* const> argv,
                                                    const Snapshot& snapshot,
                                                    const ReadText& read_text);

/// What muster's own flags say in front of the program among these tokens.
[[nodiscard]] Result<Settings> read_settings_of(std::span<const std::string> tokens);

/// The same with what another launcher's command line behind them says, as far as that can be read here.
[[nodiscard]] Result<Settings> read_all_settings_of(std::span<const std::string> tokens);

// Texts for users, made from the table.
[[nodiscard]] std::string help_text();
[[nodiscard]] std::string man_page();
[[nodiscard]] Result<std::string> completion_script(const Sourced<std::string>& shell);

}  // namespace muster
