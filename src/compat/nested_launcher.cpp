// Finds out whether the program is a launcher or a script that spawns, and suggests another command line. One function
// reads a file; the others are pure.
#include "compat/nested_launcher.hpp"

#include "base/lists.hpp"
#include "base/text.hpp"
#include "compat/known_launchers.hpp"
#include "compat/spawn_calls.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace muster {
namespace {

using Strings = std::span<const std::string>;

std::optional<std::string> read_text_of(const PythonRun& run, const ReadText& read_text) {
  if (!run.code.empty()) {
    return run.code;
  }
  if (!run.module.empty()) {
    // Text of a module that is found from the working directory.
    std::string path = run.module;
    std::ranges::replace(path, '.', '/');
    auto text = read_text(path + ".py");
    return text ? text : read_text(path + "/__main__.py");
  }
  return run.script.empty() ? std::nullopt : read_text(run.script);
}

/// Line that runs the script once on each node, without the mode's arguments unless the script takes them.
std::string line_of_script(Strings typed, const std::string& text) {
  const bool takes_arguments = text.find("--init_method") != std::string::npos;
  return std::string("muster --mode once ") + (takes_arguments ? "" : "--template-arguments never ") +
         as_command_line(typed);
}

/// "bash" for "#!/usr/bin/env bash"; empty if the text is no script.
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

/// The usual name of the program, and the words that follow it.
struct NamedProgram {
  std::string name;
  Strings arguments;
  std::string path{};                 ///< as typed; empty for a script or module of Python
  std::optional<PythonRun> python{};  ///< set if the name is that of a Python script or module
};

NamedProgram find_program(Strings line) {
  const auto [words, is_for_python] = without_wrappers(line);
  if (words.empty()) {
    return {};
  }
  const std::string name(base_name(words.front()));
  if (is_for_python || is_python(name)) {
    const PythonRun run = read_python_words(words);
    return {run.module.empty() ? std::string(base_name(run.script)) : run.module, run.arguments, "", run};
  }
  return {name, words.subspan(1), words.front()};
}

/// Text of a file that the kernel would give to Python by its "#!" line.
std::optional<std::string> read_python_file(const std::string& path, const ReadText& read_text) {
  auto text = path.find('/') == std::string::npos ? std::nullopt : read_text(path);
  return text && is_python(interpreter_of(*text)) ? std::move(text) : std::nullopt;
}

/// The places in which the program runs too often, "in each of the 8 copies on this node"; empty: none.
std::string repeated(const NestedLauncher& own, const LaunchContext& starts) {
  if (starts.tasks_here > 1 && starts.count > 0) {
    return "in each of the " + std::to_string(starts.tasks_here) + " tasks on this host";
  }
  if (starts.count > 1) {
    return "in each of the " + std::to_string(starts.count) + " copies on this node";
  }
  const bool is_apart = starts.count == 1 && starts.nodes > 1 && own.is_launcher && !own.instead.knows_nodes;
  return is_apart ? "in a job of its own on each of the " + std::to_string(starts.nodes) + " nodes" : "";
}

/// The command that was probably meant, as "'muster torchrun train.py'", and where to write it.
std::string intended_command(const NestedLauncher& own, const LaunchContext& starts) {
  if (starts.nodes > 1 && !own.instead.on_nodes.empty()) {
    return own.instead.on_nodes;
  }
  return "'" + own.instead.line + "'" + own.instead.where +
         (starts.tasks_here > 1 ? ", with one task on each host" : "");
}

}  // namespace

std::optional<StartedOnce> find_started_once(Strings program) {
  const NamedProgram named = find_program(program);
  return find_started_once(named.name, named.arguments);
}

std::optional<NestedLauncher> find_nested_launcher(const std::vector<std::string>& program, bool is_python_added,
                                                   const ReadText& read_text) {
  const NamedProgram named = find_program(program);
  if (auto instead = suggest_command(named.name, named.arguments)) {
    return NestedLauncher{named.name, "", std::move(*instead), true};
  }
  const auto text = named.python ? read_text_of(*named.python, read_text) : read_python_file(named.path, read_text);
  const auto call = text ? find_spawn(*text) : std::nullopt;
  if (!call) {
    return std::nullopt;
  }
  const std::string how = "line " + std::to_string(call->line) + " calls " + call->callee +
                          (call->count.empty() ? "" : " with " + call->count);
  const Strings typed = Strings(program).subspan(is_python_added ? 1 : 0);
  return NestedLauncher{named.name.empty() ? "-c" : named.name, how, {line_of_script(typed, *text)}};
}

std::string check_nested_launcher(const NestedLauncher& own, const LaunchContext& starts) {
  const std::string where = repeated(own, starts);
  const bool is_certain = own.how.empty();  // it is no line of a script, which may be under a condition
  if (where.empty() || (starts.is_mode_given && !is_certain)) {
    return {};
  }
  const std::string does = is_certain ? "' starts processes itself" : "' may start processes itself: " + own.how;
  const std::string meant = "; for one job write " + intended_command(own, starts);
  return "'" + own.program + does + ", " + where +
         (starts.is_mode_given ? ", as the mode '" + starts.mode + "' was asked for" + meant
                               : meant + ", or --mode " + starts.mode + " if you want this");
}

std::optional<std::string> read_script(const std::string& path) {
  constexpr std::size_t kMost = 1U << 20U;
  std::error_code ignored;                                 // a file that cannot be examined cannot be read either
  if (!std::filesystem::is_regular_file(path, ignored)) {  // opening a pipe could block for ever
    return std::nullopt;
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(kMost, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  text.erase(0, text.size() - without_byte_order_mark(text).size());
  return file.bad() ? std::nullopt : std::optional(std::move(text));
}

// Finds the words of a command line that are files, and where its arguments begin. Pure.

ProgramFiles find_program_files(const std::vector<std::string>& program, bool is_python_added) {
  ProgramFiles files;
  const auto [words, is_for_python] = without_wrappers(program);
  if (words.empty()) {
    return files;
  }
  const std::size_t first = program.size() - words.size();
  if (!is_for_python && words.front().find('/') != std::string::npos) {
    files.words.push_back(first);
    files.arguments = first + 1;
  }
  if (is_python_added || is_for_python || is_python(words.front())) {
    const PythonRun run = read_python_words(words);
    if (!run.script.empty()) {
      files.words.push_back(program.size() - run.arguments.size() - 1);
    }
    files.arguments = program.size() - run.arguments.size();
    files.imports_from_here = !run.module.empty() || !run.code.empty();
  } else if (is_shell(base_name(words.front()))) {
    files.arguments.reset();
    if (const ShellWords shell = read_shell_words(words); shell.script > 0) {
      files.words.push_back(first + shell.script);
      files.arguments = first + shell.script + 1;
    }
  }
  return files;
}

bool reads_program_from_input(const std::vector<std::string>& program) {
  constexpr auto kTexts = std::to_array<std::string_view>({"-h", "--help", "-V", "-VV", "--version"});
  const auto [words, is_for_python] = without_wrappers(program);
  if (words.empty() || std::ranges::any_of(words, [&](const std::string& word) { return contains(kTexts, word); })) {
    return false;
  }
  if (is_python(words.front())) {
    const PythonRun run = read_python_words(words);
    return run.script.empty() && run.module.empty() && run.code.empty();
  }
  const ShellWords shell = read_shell_words(words);
  return is_shell(base_name(words.front())) && shell.script == 0 && shell.code == 0;
}

// Skips wrappers that are known by name, with their options.

namespace {

struct Wrapper {
  std::string_view name;
  std::string_view command;      ///< its subcommand that runs another command; empty: it has none
  std::string_view values = {};  ///< options whose value is the next word, each between blanks
  int operands = 0;              ///< number of words in front of the program
  bool is_python = false;        ///< it runs Python scripts, and -m, itself
};

/// Source: the wrappers' manual pages.
constexpr auto kWrappers = std::to_array<Wrapper>({
    {"env", "", " -u -C "},
    {"timeout", "", " -k -s ", 1},
    {"nice", "", " -n "},
    {"ionice", "", " -c -n "},
    {"nohup", ""},
    {"setsid", ""},
    {"time", "", " -f -o "},
    {"stdbuf", "", " -i -o -e "},
    {"taskset", "", "", 1},
    {"numactl", "", " -N -m -i -C -p -P -w "},
    {"catchsegv", ""},
    {"chrt", "", "", 1},
    {"sudo", "", " -u -g -h -p -C "},
    {"strace", "", " -e -o -p -s -a -u -P "},
    {"perf", "record", " -e -F -o -c -C "},
    {"py-spy", "record", " -o -r -f -d -p "},
    {"gdb", "--args"},
    {"cuda-gdb", "--args"},
    {"tini", "", " -p -e "},
    {"dumb-init", "", " -r "},
    {"nsys", "profile", " -o -t -s -c -w -e -p -y -d -b -f -x -n -k "},
    {"uv", "run", " -p -w ", 0, true},
    {"poetry", "run"},
    {"conda", "run", " -n -p "},
    {"mamba", "run", " -n -p "},
    {"pipenv", "run"},
    {"pixi", "run", " -e "},
    {"pdm", "run", " -p "},
    {"hatch", "run"},
    {"singularity", "exec", " -B -H -W ", 1},
    {"apptainer", "exec", " -B -H -W ", 1},
    {"coverage", "run", "", 0, true},
});

const Wrapper* find_wrapper(Strings words) {
  return first_of(kWrappers, [&](const Wrapper& one) {
    return !words.empty() && base_name(words[0]) == one.name &&
           (one.command.empty() || (words.size() > 1 && words[1] == one.command));
  });
}

bool is_script(const std::string& word) {
  return word.ends_with(".py");
}

/// True if the words begin with a program, so that they cannot be the value of an option.
bool is_program(Strings words) {
  return !words.empty() &&
         (is_python(words[0]) || is_script(words[0]) || suggest_command(base_name(words[0]), words.subspan(1)));
}

/// True if the next word is the option's value. For an unknown --option: if the word after that value is the program.
bool takes_next(const Wrapper& wrapper, Strings words) {
  const std::string& option = words[0];
  if (!option.starts_with("--")) {
    return wrapper.values.find(" " + option + " ") != std::string_view::npos;
  }
  const auto place = 1 + static_cast<std::size_t>(wrapper.operands);
  return option.find('=') == std::string::npos && words.size() > place + 1 && !is_program(words.subspan(place)) &&
         is_program(words.subspan(place + 1));
}

/// Number of leading words that form one option, with its value if it has one; 0: they are no option.
std::size_t count_option(const Wrapper& wrapper, Strings words) {
  const bool is_one = words[0].size() > 1 && words[0].front() == '-' && !(wrapper.is_python && words[0] == "-m");
  const bool is_variable = wrapper.name == "env" && words[0].find('=') != std::string::npos;
  if (is_one && takes_next(wrapper, words)) {
    return 2;
  }
  return is_one || is_variable ? 1 : 0;
}

/// The index of the first word after the wrapper's own words: the program. Past the end: there is none.
std::size_t skip_own_words(const Wrapper& wrapper, Strings words) {
  int operands = wrapper.operands;
  std::size_t at = wrapper.command.empty() ? 1 : 2;
  while (at < words.size() && words[at] != "--") {
    const std::size_t count = count_option(wrapper, words.subspan(at));
    if (count == 0 && operands-- <= 0) {
      return at;
    }
    at += std::max<std::size_t>(count, 1);
  }
  return at + 1;
}

}  // namespace

Wrapped without_wrappers(Strings words) {
  for (const Wrapper* wrapper = find_wrapper(words); wrapper != nullptr; wrapper = find_wrapper(words)) {
    const std::size_t at = std::min(skip_own_words(*wrapper, words), words.size());
    const bool is_for_python = wrapper->is_python && at < words.size() && (is_script(words[at]) || words[at] == "-m");
    if (is_for_python) {
      return {words.subspan(at - 1), true};
    }
    words = words.subspan(at);
  }
  return {words, false};
}

}  // namespace muster
