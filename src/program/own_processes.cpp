// Is the program a launcher itself, or a script that spawns? And what is to be done about it. Pure, but for
// the one reader of a file.
#include "known_launchers.hpp"
#include "shell_commands.hpp"
#include "spawn_calls.hpp"

#include <muster/program/own_processes.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>

namespace muster {
namespace {

using Strings = std::span<const std::string>;

/// env NAME=value program
Strings without_env(Strings words) {
  if (words.empty() || base_name(words.front()) != "env") {
    return words;
  }
  const auto at = std::find_if(words.begin() + 1, words.end(), [](const std::string& word) {
    return word.find('=') == std::string::npos && !word.starts_with('-');
  });
  return words.subspan(static_cast<std::size_t>(at - words.begin()));
}

/// What Python is told to run.
struct PythonRun {
  std::string script;  ///< a path
  std::string module;
  std::string code;
  Strings arguments{};  ///< behind it
};

/// Source: python(1). "-um module" is "-u -m module", "-cprint()" is "-c print()".
PythonRun read_python_words(Strings words) {
  PythonRun run;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word.front() != '-') {
      run.script = word == "-" ? "" : word;
      run.arguments = words.subspan(i + 1);
      return run;
    }
    const std::size_t at = word.starts_with("--") ? std::string::npos : word.find_first_of("mcWX");
    if (at == std::string::npos) {
      continue;
    }
    const bool is_next = at + 1 == word.size();
    const std::string value = !is_next               ? word.substr(at + 1)
                              : i + 1 < words.size() ? words[i + 1]
                                                     : "";
    i += is_next ? 1 : 0;
    if (word[at] == 'm' || word[at] == 'c') {
      (word[at] == 'm' ? run.module : run.code) = value;
      run.arguments = words.subspan(std::min(i + 1, words.size()));
      return run;
    }
  }
  return run;
}

/// The file of a module that is found from here.
std::optional<std::string> read_module(const std::string& module, const ReadText& read_text) {
  std::string path = module;
  std::replace(path.begin(), path.end(), '.', '/');
  auto text = read_text(path + ".py");
  return text ? text : read_text(path + "/__main__.py");
}

std::optional<std::string> read_text_of(const PythonRun& run, const ReadText& read_text) {
  if (!run.code.empty()) {
    return run.code;
  }
  if (!run.module.empty()) {
    return read_module(run.module, read_text);
  }
  return run.script.empty() ? std::nullopt : read_text(run.script);
}

/// Once a node, and without the arguments of that mode unless the script takes them.
std::string line_of_script(Strings typed, const std::string& text) {
  const bool takes_arguments = text.find("--init_method") != std::string::npos;
  return std::string("muster --mode once ") +
         (takes_arguments ? "" : "--template-arguments never ") + as_command_line(typed);
}

/// "line 41 calls torch.multiprocessing.spawn with nprocs=8".
std::string describe(const SpawnCall& call) {
  return "line " + std::to_string(call.line) + " calls " + call.callee +
         (call.count.empty() ? "" : " with " + call.count);
}

/// "8 of it on this node each do".
std::string count_of_it(int count) {
  return std::to_string(count) + " of it on this node";
}

bool is_shell(std::string_view name) {
  constexpr auto kShells =
      std::to_array<std::string_view>({"sh", "bash", "dash", "ash", "ksh", "zsh"});
  return std::find(kShells.begin(), kShells.end(), name) != kShells.end();
}

/// "bash" of "#!/usr/bin/env bash"; empty: it is no script.
std::string interpreter_of(const std::string& text) {
  if (!text.starts_with("#!")) {
    return {};
  }
  std::istringstream line(text.substr(2, text.find('\n') - 2));
  std::string word;
  line >> word;
  if (base_name(word) == "env") {
    line >> word;
  }
  return std::string(base_name(word));
}

/// What a shell is told to run.
struct ShellRun {
  std::string name;  ///< of the script, or "-c"
  std::optional<std::string> text;
};

ShellRun read_shell_words(Strings words, const ReadText& read_text) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || (word.front() != '-' && word.front() != '+')) {
      return {std::string(base_name(word)), read_text(word)};
    }
    if (word.starts_with("--")) {
      continue;
    }
    if (word.ends_with('c')) {  // -c, -lc
      return {"-c", i + 1 < words.size() ? std::optional(words[i + 1]) : std::nullopt};
    }
    i += word.ends_with('o') ? 1 : 0;  // -o pipefail, -euo pipefail
  }
  return {};
}

/// Goes from a command line to what it runs.
class Search {
 public:
  explicit Search(const ReadText& read_text) : read_text_(read_text) {}

  /// Looks into `scripts` shell scripts one inside the other.
  std::optional<OwnProcesses> find(Strings program, bool is_python_added, int scripts) const {
    const Strings words = without_env(program);
    if (words.empty()) {
      return std::nullopt;
    }
    const std::string name(base_name(words.front()));
    if (auto instead = line_instead_of(name, words.subspan(1))) {
      return OwnProcesses{name, "", true, std::move(*instead)};
    }
    const Strings typed = program.subspan(is_python_added ? 1 : 0);
    if (is_python(words.front())) {
      return find_in_python(read_python_words(words), typed);
    }
    if (scripts == 0) {
      return std::nullopt;
    }
    if (is_shell(name)) {
      return find_in_shell(read_shell_words(words, read_text_), scripts - 1);
    }
    return find_by_first_line(words, typed, scripts);
  }

 private:
  /// Of a file that the system would start by what its first line names.
  std::optional<OwnProcesses> find_by_first_line(Strings words, Strings typed, int scripts) const {
    const std::string& path = words.front();
    const auto text = path.find('/') == std::string::npos ? std::nullopt : read_text_(path);
    const std::string interpreter = text ? interpreter_of(*text) : "";
    if (is_shell(interpreter)) {
      return find_in_shell({std::string(base_name(path)), text}, scripts - 1);
    }
    return is_python(interpreter) ? find_in_python({path, "", "", words.subspan(1)}, typed)
                                  : std::nullopt;
  }

  std::optional<OwnProcesses> find_in_python(const PythonRun& run, Strings typed) const {
    const std::string what = run.module.empty() ? std::string(base_name(run.script)) : run.module;
    if (auto instead = line_instead_of(what, run.arguments)) {
      return OwnProcesses{what, "", true, std::move(*instead)};
    }
    const auto text = read_text_of(run, read_text_);
    const auto call = text ? find_spawn(*text) : std::nullopt;
    if (!call) {
      return std::nullopt;
    }
    return OwnProcesses{what.empty() ? "-c" : what,
                        describe(*call),
                        call->is_certain,
                        line_of_script(typed, *text)};
  }

  /// The first command that surely starts several processes, else the first that may.
  std::optional<OwnProcesses> find_in_shell(const ShellRun& run, int scripts) const {
    std::optional<OwnProcesses> first;
    for (const ShellCommand& command : read_shell(run.text.value_or(""))) {
      auto own = find(command.words, false, scripts);
      if (!own) {
        continue;
      }
      own->how = "line " + std::to_string(command.line) + " runs " + own->program +
                 (own->how.empty() ? "" : ", and there " + own->how);
      own->program = run.name;
      own->is_certain = own->is_certain && !command.is_conditional;
      own->is_in_script = true;
      if (own->is_certain) {
        return own;
      }
      first = first ? std::move(first) : std::move(own);
    }
    return first;
  }

  const ReadText& read_text_;
};

}  // namespace

std::optional<OwnProcesses> find_own_processes(const std::vector<std::string>& program,
                                               bool is_python_added,
                                               const ReadText& read_text) {
  constexpr int kScriptsInScripts = 2;
  return Search(read_text).find(program, is_python_added, kScriptsInScripts);
}

Result<std::string> judge_own_processes(const OwnProcesses& own, const Starts& starts) {
  if (starts.count <= 1 || (!own.is_certain && starts.is_mode_given)) {
    return std::string();
  }
  const std::string how = own.how.empty() ? "" : ": " + own.how;
  const std::string many = count_of_it(starts.count);
  const std::string where = own.is_in_script ? " there and start that without muster" : "";
  if (!own.is_certain) {
    return "'" + own.program + "' may start processes itself" + how +
           " under a condition; if that is true here, " + many + " each do so: then write '" +
           own.instead + "'" + where;
  }
  const std::string start = "'" + own.program + "' starts processes itself" + how + ", and " + many;
  if (starts.is_mode_given) {
    return start + " each do so, as the mode '" + starts.mode + "' was asked for";
  }
  return Error{ErrorKind::BadUsage,
               start + " would each do so; write '" + own.instead + "'" + where + ", or --mode " +
                   starts.mode + " if it is meant so"};
}

std::optional<std::string> read_script(const std::string& path) {
  constexpr std::size_t kMost = 1U << 20U;
  std::error_code ignored;  // what cannot be looked at cannot be read either
  if (!std::filesystem::is_regular_file(path, ignored)) {  // a pipe could keep us for ever
    return std::nullopt;
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(kMost, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return file.bad() ? std::nullopt : std::optional(std::move(text));
}

}  // namespace muster
