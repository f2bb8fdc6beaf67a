// The options of Python and of shells, as far as they say what is run.
#include "compat/interpreters.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

using Strings = std::span<const std::string>;

/// -m and -c say what to run, as in "-um module" and "-cprint()"; the others have no meaning here.
struct PythonOption {
  char letter = '\0';
  bool takes_next = false;  ///< its value is the next word
  std::string value{};      ///< else
};

PythonOption read_python_option(const std::string& word) {
  const std::size_t at = word.starts_with("--") ? std::string::npos : word.find_first_of("mcWX");
  return at == std::string::npos
             ? PythonOption()
             : PythonOption{word[at], at + 1 == word.size(), word.substr(at + 1)};
}

PythonRun read_options(Strings words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word.front() != '-') {
      return {word == "-" ? "" : word, "", "", words.subspan(i + 1)};
    }
    PythonOption option = read_python_option(word);
    if (option.takes_next && ++i < words.size()) {
      option.value = words[i];
    }
    const Strings arguments = words.subspan(std::min(i + 1, words.size()));
    if (option.letter == 'm') {
      return {"", option.value, "", arguments};
    }
    if (option.letter == 'c') {
      return {"", "", option.value, arguments};
    }
  }
  return {};
}

/// Modules that run the script which stands behind their options.
bool runs_a_script(std::string_view module) {
  constexpr auto kModules =
      std::to_array<std::string_view>({"cProfile", "pdb", "profile", "trace", "viztracer"});
  return std::find(kModules.begin(), kModules.end(), module) != kModules.end();
}

/// What `python3 -m pdb train.py` runs in the end.
PythonRun without_modules(PythonRun run) {
  const auto script = std::find_if(run.arguments.begin(),
                                   run.arguments.end(),
                                   [](const std::string& word) { return word.ends_with(".py"); });
  if (!runs_a_script(run.module) || script == run.arguments.end()) {
    return run;
  }
  const auto behind = static_cast<std::size_t>(script - run.arguments.begin()) + 1;
  return {*script, "", "", run.arguments.subspan(behind)};
}

}  // namespace

// Source: python(1).
PythonRun read_python_words(Strings words) {
  return without_modules(read_options(words));
}

bool is_shell(std::string_view name) {
  constexpr auto kShells =
      std::to_array<std::string_view>({"sh", "bash", "dash", "ash", "ksh", "zsh"});
  return std::find(kShells.begin(), kShells.end(), name) != kShells.end();
}

ShellWords read_shell_words(Strings words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || (word.front() != '-' && word.front() != '+')) {
      return {i, 0};
    }
    if (word.starts_with("--")) {
      continue;
    }
    if (word.ends_with('c')) {  // -c, -lc
      return {0, i + 1 < words.size() ? i + 1 : 0};
    }
    i += word.ends_with('o') ? 1 : 0;  // -o pipefail, -euo pipefail
  }
  return {};
}

}  // namespace muster
