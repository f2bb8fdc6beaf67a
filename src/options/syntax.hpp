#pragma once

// Parses the spellings of options: on muster's command line, among another launcher's options, and as MUSTER_*
// variables.

#include "options/readers.hpp"
#include "options/settings.hpp"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// A table of options is the source of parsing, MUSTER_* variables, --help, the manual page and the completions.

/// One option: its texts for the user, and what reads it.
struct Option {
  const char* name;                   ///< long name without dashes
  const char* argument;               ///< name of its value; nullptr: a switch; see `may_lack_value`
  const char* section;                ///< heading in --help
  const char* help;                   ///< one or two sentences
  OptionReader reader = kReadByCode;  ///< puts its value into a request
  const char* choices = nullptr;      ///< values that completions offer, separated by blanks
  char letter = '\0';                 ///< short form, if it has one

  /// True for an option with "[=VALUE]", which is also given without it.
  bool may_lack_value() const { return argument != nullptr && *argument == '['; }

  /// True for an option with "VALUE ...", which may be given several times, each time with one value.
  bool may_repeat() const { return argument != nullptr && std::string_view(argument).ends_with(" ..."); }
};

/// Start of the settings with the values of an option that may repeat, in the order in which they were given. The
/// option's own name holds the last one.
std::string prefix_of_repeated(std::string_view option);

/// The values of an option in the order in which they were given; empty: it was not.
std::vector<Sourced<std::string>> values_of(const Option& option, const Settings& settings);

/// Reads the given options of this type of request, in the order of their rows.
template <typename Request>
[[nodiscard]] Result<> read_rows(Request& request, std::span<const Option> rows, const Settings& settings) {
  for (const Option& row : rows) {
    const bool is_ours = row.reader.request != nullptr && *row.reader.request == typeid(Request);
    const auto values = is_ours ? values_of(row, settings) : std::vector<Sourced<std::string>>();
    for (const Sourced<std::string>& value : values) {
      TRY(row.reader.read(&request, value));
    }
  }
  return {};
}

/// Another program's name for an option: mpirun's "np".
struct OtherName {
  std::string_view other;
  std::string_view name;
};

/// An option of another launcher for which this program has none, and what to do instead.
struct OptionRemark {
  std::string_view other;
  std::string_view instead;
};

/// The options of one command.
struct OptionTable {
  std::span<const Option> options;
  std::span<const std::string_view> no_options;  ///< MUSTER_* variables that are not options
  std::span<const OtherName> other_names;        ///< spellings of other launchers for the same options
  const char* command = "muster";                ///< the program that has these options
  std::span<const OptionRemark> remarks{};       ///< advice for other launchers' options that muster lacks

  /// Finds an option by its name; nullptr if there is none.
  const Option* find(std::string_view name) const;
  const Option* find_letter(char letter) const;
  /// The known name nearest to a mistyped one; empty unless it is near enough.
  std::optional<std::string> nearest(std::string_view typed) const;
};

/// "--nproc_per_node=4" becomes "--nproc-per-node=4"; the value is left alone.
std::string with_dashes(const std::string& token);

/// The error for an unknown option: "'--nnode'; did you mean '--nnodes'?". Without a near option `help` follows.
Error unknown_option(const std::string& typed, const std::optional<std::string>& nearest, const std::string& help);

/// The error for an option that `table` does not have, with the nearest one that it has.
Error unknown_own_option(const std::string& typed, const OptionTable& table);

/// The error for a line without a script if an option in `words` has taken the script as its value, as it happens
/// behind an unset variable of the shell. Empty: no option has.
std::optional<Error> find_taken_script(std::span<const std::string> words);

/// True for a word that looks like an option and is none: "–nnodes" with an en dash, or with an invisible character.
bool looks_like_option(std::string_view word);

/// Fails for a program's name such as "hostfile=hf", which is an option without its dashes. `find` gets a word with
/// dashes and returns the option's spelling, or empty for another word.
[[nodiscard]] Result<> check_is_no_option(
    const std::string& word, std::string_view taken_for,
    const std::function<std::optional<std::string>(const std::string& typed)>& find);

/// Describes the first of muster's options behind the program, where users put them by mistake: there muster does not
/// read them. `find` gets a word with dashes and returns the option's spelling, or empty for another word. Words
/// behind "--" are skipped.
std::optional<std::string> describe_option_behind(
    std::span<const std::string> program, const std::string& whose,
    const std::function<std::optional<std::string>(const std::string& typed)>& find);

/// Splits a text into words as a shell does: quotes and backslashes keep blanks.
[[nodiscard]] Result<std::vector<std::string>> split_words(const Sourced<std::string>& text);

/// Joins words so that `split_words` returns them again.
std::string quoted_words(std::span<const std::string> words);

/// Reads options of muster from tokens that do not include the program.
[[nodiscard]] Result<> read_flags(const std::vector<std::string>& tokens, const OptionTable& table, Settings& settings);

/// Sets one option of muster; --set is split into NAME and VALUE.
[[nodiscard]] Result<> set_option(Settings& settings, const std::string& name, const Sourced<std::string>& value);

/// Reads the MUSTER_* variables of options that `settings` do not have yet.
[[nodiscard]] Result<> read_own_variables(const std::map<std::string, std::string>& variables, const OptionTable& table,
                                          Settings& settings);

}  // namespace muster
