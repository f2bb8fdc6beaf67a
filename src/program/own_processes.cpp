// Is the program a launcher itself, or a script that spawns? And what is to be done about it. Pure, but for
// the one reader of a file.
#include "known_launchers.hpp"
#include "spawn_calls.hpp"

#include <muster/program/own_processes.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>

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

}  // namespace

std::optional<OwnProcesses> find_own_processes(const std::vector<std::string>& program,
                                               bool is_python_added,
                                               const ReadText& read_text) {
  const Strings words = without_env(program);
  if (words.empty()) {
    return std::nullopt;
  }
  const std::string name(base_name(words.front()));
  if (auto instead = line_instead_of(name, words.subspan(1))) {
    return OwnProcesses{name, "", true, std::move(*instead)};
  }
  if (!is_python(words.front())) {
    return std::nullopt;
  }
  const PythonRun run = read_python_words(words);
  const std::string what = run.module.empty() ? std::string(base_name(run.script)) : run.module;
  if (auto instead = line_instead_of(what, run.arguments)) {
    return OwnProcesses{what, "", true, std::move(*instead)};
  }
  const auto text = read_text_of(run, read_text);
  const auto call = text ? find_spawn(*text) : std::nullopt;
  if (!call) {
    return std::nullopt;
  }
  const Strings typed = Strings(program).subspan(is_python_added ? 1 : 0);
  return OwnProcesses{
      what.empty() ? "-c" : what, describe(*call), call->is_certain, line_of_script(typed, *text)};
}

Result<std::string> judge_own_processes(const OwnProcesses& own, const Starts& starts) {
  if (starts.count <= 1 || (!own.is_certain && starts.is_mode_given)) {
    return std::string();
  }
  const std::string how = own.how.empty() ? "" : ": " + own.how;
  const std::string many = count_of_it(starts.count);
  if (!own.is_certain) {
    return "'" + own.program + "' may start processes itself" + how +
           " under a condition; if that is true here, " + many + " each do so, and '" +
           own.instead + "' starts it once";
  }
  const std::string start = "'" + own.program + "' starts processes itself" + how + ", and " + many;
  if (starts.is_mode_given) {
    return start + " each do so, as the mode '" + starts.mode + "' was asked for";
  }
  return Error{ErrorKind::BadUsage,
               start + " would each do so; write '" + own.instead + "', or --mode " + starts.mode +
                   " if it is meant so"};
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
