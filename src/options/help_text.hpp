#pragma once

// Formats --help and shell completions of muster and of the programs that translate other launchers' command lines.

#include "options/settings.hpp"
#include "options/syntax.hpp"

#include <vector>

namespace muster {

/// Breaks text between words into lines of at most `width`.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// An option in --help: its spelling on the left, its text wrapped on the right.
std::string help_entry(const std::string& spelled, std::string_view help);

/// A command that a shell completes.
struct CompletedCommand {
  std::string name;  ///< "muster"; for a subcommand "render"
  std::span<const Option> options;
  std::string words{};  ///< offered as the first word
};

/// The completion script of a command and of its subcommands that have options of their own.
[[nodiscard]] Result<std::string> completion_script(const Sourced<std::string>& shell, const CompletedCommand& command,
                                                    std::span<const CompletedCommand> inner = {});

}  // namespace muster
