#pragma once

// What the readers of muster's own options and of other launchers' options share.

#include "options.hpp"

namespace muster {

[[nodiscard]] const Option* find_option(std::string_view name);
[[nodiscard]] const Option* find_letter(char letter);

/// The option that is meant, if one is near enough. Names are compared without what they all begin
/// with: it would make each look like each.
[[nodiscard]] std::optional<std::string> nearest_option(std::string_view typed);

/// "--nproc_per_node=4" becomes "--nproc-per-node=4"; the value is left alone.
[[nodiscard]] std::string with_dashes(const std::string& token);

/// "'--nnode'; did you mean '--nnodes'?" as an error of the command line.
[[nodiscard]] Error unknown_option(const std::string& typed,
                                   const std::optional<std::string>& nearest,
                                   const std::string& help);

/// Sets what one of muster's own options says; --set takes NAME=VALUE apart.
[[nodiscard]] Result<> set_option(Settings& settings,
                                  const std::string& name,
                                  const Sourced<std::string>& value);

/// MUSTER_* variables, for what `settings` do not have yet.
[[nodiscard]] Result<> read_own_variables(const Snapshot& snapshot, Settings& settings);

}  // namespace muster
