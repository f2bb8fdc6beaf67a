#pragma once

// A table of options: from it parsing, MUSTER_* variables, --help, the manual page and the completions
// are made.

#include <optional>
#include <span>
#include <string>
#include <string_view>

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

}  // namespace muster
