#pragma once

// How options are written: on muster's own command line, among another launcher's options, and as
// MUSTER_* variables.

#include "options/settings.hpp"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// A table of options: from it parsing, MUSTER_* variables, --help, the manual page and the completions
// are made.

/// One option. Everything about it that a user can read stands here.
struct Option {
  const char* name;               ///< long name without dashes
  char letter;                    ///< short form, or '\0'
  const char* argument;           ///< what its value is called; nullptr: a switch
  const char* section;            ///< heading in --help
  const char* help;               ///< one or two sentences
  const char* choices = nullptr;  ///< what completions offer, separated by blanks
};

/// What another program calls an option: mpirun's "np".
struct OtherName {
  std::string_view other;
  std::string_view name;
};

/// The options of muster, as those see them who read them.
struct OptionTable {
  std::span<const Option> options;
  std::span<const std::string_view> no_options;  ///< variables MUSTER_* that are something else
  std::span<const OtherName> other_names;        ///< how programs like muster call its options
  const char* command = "muster";                ///< whose they are

  /// The option of that name; nullptr if there is none.
  [[nodiscard]] const Option* find(std::string_view name) const;
  [[nodiscard]] const Option* find_letter(char letter) const;
  /// The name that is meant, if one is near enough.
  [[nodiscard]] std::optional<std::string> nearest(std::string_view typed) const;
};

/// "--nproc_per_node=4" becomes "--nproc-per-node=4"; the value is left alone.
[[nodiscard]] std::string with_dashes(const std::string& token);

/// "'--nnode'; did you mean '--nnodes'?" as an error of the command line.
[[nodiscard]] Error unknown_option(const std::string& typed, const std::optional<std::string>& nearest,
                                   const std::string& help);

/// Many write options behind the program. They belong to it, unread, but the user is told: the sentence about the
/// first one that `find` knows by what was typed, with dashes; it answers as it is spelled. None behind "--".
[[nodiscard]] std::optional<std::string> describe_option_behind(
    std::span<const std::string> program, const std::string& whose,
    const std::function<std::optional<std::string>(const std::string& typed)>& find);

/// The words of a text as a shell would take them: quotes and backslashes keep blanks.
[[nodiscard]] Result<std::vector<std::string>> split_words(const Sourced<std::string>& text);

/// A text of which `split_words` makes these words again.
[[nodiscard]] std::string quoted_words(std::span<const std::string> words);

/// Reads options of muster; no program is among the tokens.
[[nodiscard]] Result<> read_flags(const std::vector<std::string>& tokens, const OptionTable& table, Settings& settings);

/// Sets what one of muster's own options says; --set takes NAME=VALUE apart.
[[nodiscard]] Result<> set_option(Settings& settings, const std::string& name, const Sourced<std::string>& value);

/// MUSTER_* variables, for what `settings` do not have yet.
[[nodiscard]] Result<> read_own_variables(const std::map<std::string, std::string>& variables, const OptionTable& table,
                                          Settings& settings);

}  // namespace muster
