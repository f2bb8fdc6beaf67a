#pragma once

// How options are written: on muster's own command line, among another launcher's options, and as
// MUSTER_* variables.

#include <muster/options/option.hpp>
#include <muster/options/settings.hpp>

#include <map>
#include <string>
#include <vector>

namespace muster {

/// "--nproc_per_node=4" becomes "--nproc-per-node=4"; the value is left alone.
[[nodiscard]] std::string with_dashes(const std::string& token);

/// "'--nnode'; did you mean '--nnodes'?" as an error of the command line.
[[nodiscard]] Error unknown_option(const std::string& typed,
                                   const std::optional<std::string>& nearest,
                                   const std::string& help);

/// The words of a text as a shell would take them: quotes and backslashes keep blanks.
[[nodiscard]] Result<std::vector<std::string>> split_words(const Sourced<std::string>& text);

/// Reads options of muster; no program is among the tokens.
[[nodiscard]] Result<> read_flags(const std::vector<std::string>& tokens,
                                  const OptionTable& table,
                                  Settings& settings);

/// Sets what one of muster's own options says; --set takes NAME=VALUE apart.
[[nodiscard]] Result<> set_option(Settings& settings,
                                  const std::string& name,
                                  const Sourced<std::string>& value);

/// MUSTER_* variables, for what `settings` do not have yet.
[[nodiscard]] Result<> read_own_variables(const std::map<std::string, std::string>& variables,
                                          const OptionTable& table,
                                          Settings& settings);

}  // namespace muster
