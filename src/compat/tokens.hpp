#pragma once

// Reads another launcher's command line into options and program, before they are translated.

#include "compat/compat_launcher.hpp"

namespace muster {

/// Values by option name, with dashes. Numbers are in muster's form.
using Given = std::map<std::string, Sourced<std::string>>;

/// The command line in parts: the options in front of the script, and the script with its arguments.
struct Tokens {
  Given given{};
  std::vector<TypedOption> typed{};
  Settings own{};  ///< muster's options among them
  std::vector<std::string> program{};
  bool is_set_apart = false;  ///< "--" stands in front of the script or its arguments
};

/// The name with dashes: "worker_num" is "worker-num".
std::string dashed(std::string_view name);

/// Reads options up to the script; muster's options may stand among them if `own` is given. Fails with `BadUsage`.
[[nodiscard]] Result<Tokens> read_tokens(const CompatLauncher& compat, std::span<const std::string> tokens,
                                         const OptionTable* own);

/// Reads options of `compat` from the words of a text, such as a variable; their sources name the text's source, too.
/// Fails for other words, and for a program; `expected` says what the text may have.
[[nodiscard]] Result<Tokens> read_words_of(const CompatLauncher& compat, const Sourced<std::string>& text,
                                           std::span<const std::string> words, const std::string& expected);

/// The value in muster's form of numbers. Fails for no number; an empty variable counts as not given.
[[nodiscard]] Result<std::string> read_value(const CompatLauncher& compat, const CompatOption& option,
                                             const Sourced<std::string>& value);

/// Reads variables such as PET_NPROC_PER_NODE for options without a flag; if variables win over flags, adds a notice.
[[nodiscard]] Result<> read_variables(const CompatLauncher& compat, const Snapshot& snapshot, Given& given,
                                      std::vector<std::string>& notices);

/// Adds the settings for `tokens`: options of `compat`, to which the translated launcher would pass them.
[[nodiscard]] Result<> translate_as(const CompatLauncher& compat, Translation& translation, Tokens tokens);

/// Error for two options that exclude each other.
Error contradiction(const Sourced<std::string>& one, const Sourced<std::string>& other);

}  // namespace muster
