// Finds out whether the program is a launcher or a script that spawns, and suggests another command line. Pure, but
// for one function that reads a file.
#include "compat/nested_launcher.hpp"

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

/// Text of a module that is found from the working directory.
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

/// Line that runs the script once on each node, without the mode's arguments unless the script takes them.
std::string line_of_script(Strings typed, const std::string& text) {
  const bool takes_arguments = text.find("--init_method") != std::string::npos;
  return std::string("muster --mode once ") + (takes_arguments ? "" : "--template-arguments never ") +
         as_command_line(typed);
}

/// "line 41 calls torch.multiprocessing.spawn with nprocs=8".
std::string describe(const SpawnCall& call) {
  return "line " + std::to_string(call.line) + " calls " + call.callee +
         (call.count.empty() ? "" : " with " + call.count);
}

NestedLauncher launcher_of(const std::string& name, SuggestedCommand instead) {
  NestedLauncher own{name, "", true, std::move(instead.line)};
  own.is_launcher = true;
  own.on_nodes = std::move(instead.on_nodes);
  own.knows_nodes = instead.knows_nodes;
  own.nodes_variable = std::move(instead.nodes_variable);
  return own;
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

/// The script that a shell runs.
struct ShellRun {
  std::string name;  ///< name of the script, or "-c"
  std::optional<std::string> text;
};

ShellRun read_shell_run(Strings words, const ReadText& read_text) {
  const ShellWords read = read_shell_words(words);
  if (read.script > 0) {
    return {std::string(base_name(words[read.script])), read_text(words[read.script])};
  }
  return read.code > 0 ? ShellRun{"-c", words[read.code]} : ShellRun();
}

/// A command line to examine: the user's, or one of a shell script.
struct Line {
  std::vector<std::string> words;
  bool is_python_added = false;
  std::string program{};  ///< the program that the user starts; empty: the one of this line
  std::string where{};    ///< position in scripts, as "line 2 runs "
  bool is_certain = true;
  int scripts = 2;  ///< number of nested shell scripts that may still be read
};

/// Follows a command line to the programs that it runs.
class LauncherSearch {
 public:
  explicit LauncherSearch(const ReadText& read_text) : read_text_(read_text) {}

  /// The first line that certainly starts several processes, else the first that may.
  std::optional<NestedLauncher> find(Line line) {
    constexpr int kMostLines = 10'000;  // no handwritten script is longer
    left_.push_back(std::move(line));
    std::optional<NestedLauncher> first;
    for (int i = 0; i < kMostLines && !left_.empty(); ++i) {
      const Line next = std::move(left_.back());
      left_.pop_back();
      auto own = look_at(next);
      if (own && own->is_certain) {
        return own;
      }
      if (!first) {
        first = std::move(own);
      }
    }
    return first;
  }

 private:
  std::optional<NestedLauncher> look_at(const Line& line) {
    const auto [words, is_for_python] = without_wrappers(line.words);
    if (words.empty()) {
      return std::nullopt;
    }
    if (is_for_python) {
      return search_python(line, read_python_words(words));
    }
    const std::string name(base_name(words.front()));
    if (auto instead = suggest_command(name, words.subspan(1))) {
      return found(line, launcher_of(name, std::move(*instead)));
    }
    if (is_python(words.front())) {
      return search_python(line, read_python_words(words));
    }
    if (is_shell(name)) {
      search_shell(line, read_shell_run(words, read_text_));
      return std::nullopt;
    }
    return look_at_file(line, words);
  }

  /// Examines a file that the kernel would start by its "#!" line.
  std::optional<NestedLauncher> look_at_file(const Line& line, Strings words) {
    const std::string& path = words.front();
    const auto text = path.find('/') == std::string::npos ? std::nullopt : read_text_(path);
    const std::string interpreter = text ? interpreter_of(*text) : "";
    if (is_shell(interpreter)) {
      search_shell(line, {std::string(base_name(path)), text});
    }
    return is_python(interpreter) ? search_python(line, {path, "", "", words.subspan(1)}) : std::nullopt;
  }

  [[nodiscard]] std::optional<NestedLauncher> search_python(const Line& line, const PythonRun& run) const {
    const std::string what = run.module.empty() ? std::string(base_name(run.script)) : run.module;
    if (auto instead = suggest_command(what, run.arguments)) {
      return found(line, launcher_of(what, std::move(*instead)));
    }
    const auto text = read_text_of(run, read_text_);
    const auto call = text ? find_spawn(*text) : std::nullopt;
    if (!call) {
      return std::nullopt;
    }
    const Strings typed = Strings(line.words).subspan(line.is_python_added ? 1 : 0);
    return found(line, {what.empty() ? "-c" : what, describe(*call), call->is_certain, line_of_script(typed, *text)});
  }

  /// Queues the script's commands, so that its first one is examined next.
  void search_shell(const Line& line, const ShellRun& run) {
    if (line.scripts == 0 || !run.text) {
      return;
    }
    const std::vector<ShellCommand> commands = read_shell(*run.text);
    for (auto command = commands.rbegin(); command != commands.rend(); ++command) {
      const std::string before = line.where.empty() ? "" : line.where + run.name + ", and there ";
      left_.push_back({command->words, false, line.program.empty() ? run.name : line.program,
                       before + "line " + std::to_string(command->line) + " runs ",
                       line.is_certain && !command->is_conditional, line.scripts - 1});
    }
  }

  /// The result as seen from the line that the user started.
  static NestedLauncher found(const Line& line, NestedLauncher own) {
    own.is_in_script = !line.where.empty();
    if (own.is_in_script) {
      own.how = line.where + own.program + (own.how.empty() ? "" : ", and there " + own.how);
      own.program = line.program;
    }
    own.is_certain = own.is_certain && line.is_certain;
    return own;
  }

  const ReadText& read_text_;
  std::vector<Line> left_;
};

/// The consequence of starting the program like this.
struct Impact {
  bool is_any = false;
  bool is_of_nodes = false;  ///< each node would run a job of its own
  std::string does{};
  std::string would{};
};

Impact impact_of(const NestedLauncher& own, const LaunchContext& starts) {
  if (starts.tasks_here > 1 && starts.count > 0) {
    const std::string each = "each of the " + std::to_string(starts.tasks_here) + " tasks on this host ";
    return {true, false, each + "does so", each + "would do so"};
  }
  if (starts.count > 1) {
    const std::string each = "each of the " + std::to_string(starts.count) + " copies on this node ";
    return {true, false, each + "will do so", each + "would do so"};
  }
  const bool is_right = own.is_launcher ? own.knows_nodes : starts.is_once_a_node || !own.is_certain;
  if (starts.count < 1 || starts.nodes <= 1 || is_right) {
    return {};
  }
  const std::string each = "each of the " + std::to_string(starts.nodes) + " nodes ";
  if (!own.is_launcher) {
    return {true, true, each + "does so"};
  }
  return {true, true, each + "starts a job of its own", each + "would start a job of its own"};
}

/// The command that was probably meant, as "'muster torchrun train.py'", and where to write it.
std::string intended_command(const NestedLauncher& own, const LaunchContext& starts) {
  if (starts.nodes > 1 && !own.on_nodes.empty()) {
    return own.on_nodes;
  }
  return "'" + own.instead + "'" + (own.is_in_script ? " there and start that without muster" : "") +
         (starts.tasks_here > 1 ? ", with one task on each host" : "");
}

}  // namespace

std::optional<NestedLauncher> find_nested_launcher(const std::vector<std::string>& program, bool is_python_added,
                                                   const ReadText& read_text) {
  return LauncherSearch(read_text).find({program, is_python_added});
}

Result<std::string> check_nested_launcher(const NestedLauncher& own, const LaunchContext& starts) {
  const Impact harm = impact_of(own, starts);
  if (!harm.is_any || (!own.is_certain && starts.is_mode_given)) {
    return std::string();
  }
  const std::string how = own.how.empty() ? "" : ": " + own.how;
  const std::string meant = intended_command(own, starts);
  if (!own.is_certain) {
    return "'" + own.program + "' may start processes itself" + how + " under a condition; if that is true here, " +
           harm.does + ": then write " + meant;
  }
  const std::string start = "'" + own.program + "' starts processes itself" + how + ", and ";
  if (starts.is_mode_given) {
    const std::string asked = ", as the mode '" + starts.mode + "' was asked for";
    return start + harm.does + asked + (harm.is_of_nodes ? "; for one job write " + meant : "");
  }
  if (!own.is_launcher && harm.is_of_nodes) {
    return start + harm.does + "; what is meant is probably " + meant;
  }
  return Error{ErrorKind::BadUsage,
               start + harm.would + "; write " + meant + ", or --mode " + starts.mode + " if it is meant so"};
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
  const auto at = std::find_if(kWrappers.begin(), kWrappers.end(), [&](const Wrapper& one) {
    return !words.empty() && base_name(words[0]) == one.name &&
           (one.command.empty() || (words.size() > 1 && words[1] == one.command));
  });
  return at == kWrappers.end() ? nullptr : &*at;
}

bool is_script(const std::string& word) {
  return word.ends_with(".py");
}

/// True for a program, which cannot be the value of an option.
bool is_program(Strings words) {
  return !words.empty() &&
         (is_python(words[0]) || is_script(words[0]) || suggest_command(base_name(words[0]), words.subspan(1)));
}

/// True if the next word is the option's value; for an unknown --option if the program stands right behind the word.
bool takes_next(const Wrapper& wrapper, Strings words) {
  const std::string& option = words[0];
  if (!option.starts_with("--")) {
    return wrapper.values.find(" " + option + " ") != std::string_view::npos;
  }
  const auto place = 1 + static_cast<std::size_t>(wrapper.operands);
  return option.find('=') == std::string::npos && words.size() > place + 1 && !is_program(words.subspan(place)) &&
         is_program(words.subspan(place + 1));
}

/// Number of leading words that form an option with its value; 0: none.
std::size_t count_option(const Wrapper& wrapper, Strings words) {
  const bool is_one = words[0].size() > 1 && words[0].front() == '-' && !(wrapper.is_python && words[0] == "-m");
  const bool is_variable = wrapper.name == "env" && words[0].find('=') != std::string::npos;
  if (is_one && takes_next(wrapper, words)) {
    return 2;
  }
  return is_one || is_variable ? 1 : 0;
}

/// Index of the program, or past the end.
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
