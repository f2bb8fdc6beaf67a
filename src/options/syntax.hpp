#pragma once

// How options are written: on muster's own command line, among another launcher's options, and as
// MUSTER_* variables.

#include "options/option.hpp"
#include "options/settings.hpp"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace muster {

/// "--nproc_per_node=4" becomes "--nproc-per-node=4"; the value is left alone.
[[nodiscard]] std::string with_dashes(const std::string& token);

/// "'--nnode'; did you mean '--nnodes'?" as an error of the command line.
[[nodiscard]] Error unknown_option(const std::string& typed,
                                   const std::optional<std::string>& nearest,
                                   const std::string& help);

/// Many write options behind the program. They belong to it, unread, but the user is told: the sentence about the
/// first one that `find` knows by what was typed, with dashes; it answers as it is spelled. None behind "--".
[[nodiscard]] std::optional<std::string> describe_option_behind(
    std::span<const std::string> program,
    const std::string& whose,
    const std::function<std::optional<std::string>(const std::string& typed)>& find);

/// The words of a text as a shell would take them: quotes and backslashes keep blanks.
[[nodiscard]] Result<std::vector<std::string>> split_words(const Sourced<std::string>& text);

/// A text of which `split_words` makes these words again.
[[nodiscard]] std::string quoted_words(std::span<const std::string> words);

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
