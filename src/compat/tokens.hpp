#pragma once

// The words of another launcher's command line, before anything is made of them.

#include "compat/compat_launcher.hpp"

namespace muster {

/// What is given, by name of the option, with dashes. Numbers are written as muster reads them.
using Given = std::map<std::string, Sourced<std::string>>;

/// The options in front of the script, and what begins with the script.
struct Tokens {
  Given given{};
  std::vector<TypedOption> typed{};
  Settings own{};  ///< options of muster among them
  std::vector<std::string> program{};
  bool is_set_apart = false;  ///< by "--": the script, or its arguments
};

/// "worker_num" is "worker-num".
[[nodiscard]] std::string dashed(std::string_view name);

/// Reads options up to the script; those of muster may stand among them if `own` has them. Fails with
/// `BadUsage`.
[[nodiscard]] Result<Tokens> read_tokens(const CompatLauncher& compat, std::span<const std::string> tokens,
                                         const OptionTable* own);

/// A number as muster reads it. Fails where there is none: a variable may be empty, and says nothing then.
[[nodiscard]] Result<std::string> read_value(const CompatLauncher& compat, const CompatOption& option,
                                             const Sourced<std::string>& value);

/// PET_NPROC_PER_NODE is --nproc-per-node where the flag is not given, or the variable wins, which is said in `notices`.
[[nodiscard]] Result<> read_variables(const CompatLauncher& compat, const Snapshot& snapshot, Given& given,
                                      std::vector<std::string>& notices);

/// Adds what options of `compat` mean, to which the original of the translation gives them.
[[nodiscard]] Result<> translate_as(const CompatLauncher& compat, Translation& translation, Tokens tokens);

/// Of two options one can be given.
[[nodiscard]] Error contradiction(const Sourced<std::string>& one, const Sourced<std::string>& other);

}  // namespace muster
