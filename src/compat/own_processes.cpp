// Is the program a launcher itself, or a script that spawns? And what is to be done about it. Pure, but for
// the one reader of a file.
#include "compat/interpreters.hpp"
#include "compat/known_launchers.hpp"
#include "compat/shell_commands.hpp"
#include "compat/spawn_calls.hpp"
#include "compat/wrappers.hpp"

#include "base/text.hpp"
#include "compat/own_processes.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>

namespace muster {
namespace {

using Strings = std::span<const std::string>;

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

NestedLauncher launcher_of(const std::string& name, SuggestedCommand instead) {
  NestedLauncher own{name, "", true, std::move(instead.line)};
  own.is_launcher = true;
  own.on_nodes = std::move(instead.on_nodes);
  own.knows_nodes = instead.knows_nodes;
  own.nodes_variable = std::move(instead.nodes_variable);
  return own;
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

ShellRun read_shell_run(Strings words, const ReadText& read_text) {
  const ShellWords read = read_shell_words(words);
  if (read.script > 0) {
    return {std::string(base_name(words[read.script])), read_text(words[read.script])};
  }
  return read.code > 0 ? ShellRun{"-c", words[read.code]} : ShellRun();
}

/// A command line that is to be looked at: the user's, or one of a shell script.
struct Line {
  std::vector<std::string> words;
  bool is_python_added = false;
  std::string program{};  ///< what the user starts; empty: this
  std::string where{};    ///< "line 2 runs "
  bool is_certain = true;
  int scripts = 2;  ///< how many more shell scripts, one inside the other, are looked into
};

/// Goes from a command line to what it runs.
class Search {
 public:
  explicit Search(const ReadText& read_text) : read_text_(read_text) {}

  /// The first line that surely starts several processes, else the first that may.
  std::optional<NestedLauncher> find(Line line) {
    constexpr int kMostLines = 10'000;  // more is no script that somebody wrote
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
    if (auto instead = line_instead_of(name, words.subspan(1))) {
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

  /// One that the system would start by what its first line names.
  std::optional<NestedLauncher> look_at_file(const Line& line, Strings words) {
    const std::string& path = words.front();
    const auto text = path.find('/') == std::string::npos ? std::nullopt : read_text_(path);
    const std::string interpreter = text ? interpreter_of(*text) : "";
    if (is_shell(interpreter)) {
      search_shell(line, {std::string(base_name(path)), text});
    }
    return is_python(interpreter) ? search_python(line, {path, "", "", words.subspan(1)})
                                  : std::nullopt;
  }

  [[nodiscard]] std::optional<NestedLauncher> search_python(const Line& line,
                                                            const PythonRun& run) const {
    const std::string what = run.module.empty() ? std::string(base_name(run.script)) : run.module;
    if (auto instead = line_instead_of(what, run.arguments)) {
      return found(line, launcher_of(what, std::move(*instead)));
    }
    const auto text = read_text_of(run, read_text_);
    const auto call = text ? find_spawn(*text) : std::nullopt;
    if (!call) {
      return std::nullopt;
    }
    const Strings typed = Strings(line.words).subspan(line.is_python_added ? 1 : 0);
    return found(line,
                 {what.empty() ? "-c" : what,
                  describe(*call),
                  call->is_certain,
                  line_of_script(typed, *text)});
  }

  /// Its commands are the next to be looked at, the first one first.
  void search_shell(const Line& line, const ShellRun& run) {
    if (line.scripts == 0 || !run.text) {
      return;
    }
    const std::vector<ShellCommand> commands = read_shell(*run.text);
    for (auto command = commands.rbegin(); command != commands.rend(); ++command) {
      const std::string before = line.where.empty() ? "" : line.where + run.name + ", and there ";
      left_.push_back({command->words,
                       false,
                       line.program.empty() ? run.name : line.program,
                       before + "line " + std::to_string(command->line) + " runs ",
                       line.is_certain && !command->is_conditional,
                       line.scripts - 1});
    }
  }

  /// What was found, as it looks to who starts the whole.
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

/// What goes wrong when it is started like this.
struct Impact {
  bool is_any = false;
  bool is_of_nodes = false;  ///< the job falls apart into one a node
  std::string does{};
  std::string would{};
};

Impact impact_of(const NestedLauncher& own, const LaunchContext& starts) {
  if (starts.tasks_here > 1 && starts.count > 0) {
    const std::string each =
        "each of the " + std::to_string(starts.tasks_here) + " tasks on this host ";
    return {true, false, each + "does so", each + "would do so"};
  }
  if (starts.count > 1) {
    const std::string many = std::to_string(starts.count) + " of it on this node ";
    return {true, false, many + "each do so", many + "would each do so"};
  }
  const bool is_right =
      own.is_launcher ? own.knows_nodes : starts.is_once_a_node || !own.is_certain;
  if (starts.count < 1 || starts.nodes <= 1 || is_right) {
    return {};
  }
  const std::string each = "each of the " + std::to_string(starts.nodes) + " nodes ";
  if (!own.is_launcher) {
    return {true, true, each + "does so"};
  }
  return {true, true, each + "starts a job of its own", each + "would start a job of its own"};
}

/// "'muster torchrun train.py'", and where that is to be written.
std::string intended_command(const NestedLauncher& own, const LaunchContext& starts) {
  if (starts.nodes > 1 && !own.on_nodes.empty()) {
    return own.on_nodes;
  }
  return "'" + own.instead + "'" +
         (own.is_in_script ? " there and start that without muster" : "") +
         (starts.tasks_here > 1 ? ", with one task on each host" : "");
}

}  // namespace

std::optional<NestedLauncher> find_nested_launcher(const std::vector<std::string>& program,
                                                   bool is_python_added,
                                                   const ReadText& read_text) {
  return Search(read_text).find({program, is_python_added});
}

Result<std::string> check_nested_launcher(const NestedLauncher& own, const LaunchContext& starts) {
  const Impact harm = impact_of(own, starts);
  if (!harm.is_any || (!own.is_certain && starts.is_mode_given)) {
    return std::string();
  }
  const std::string how = own.how.empty() ? "" : ": " + own.how;
  const std::string meant = intended_command(own, starts);
  if (!own.is_certain) {
    return "'" + own.program + "' may start processes itself" + how +
           " under a condition; if that is true here, " + harm.does + ": then write " + meant;
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
               start + harm.would + "; write " + meant + ", or --mode " + starts.mode +
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
  text.erase(0, text.size() - without_byte_order_mark(text).size());
  return file.bad() ? std::nullopt : std::optional(std::move(text));
}

}  // namespace muster
