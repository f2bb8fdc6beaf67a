#pragma once

// Commands that run the one that their words name, as in "timeout 5 torchrun train.py".

#include "base/result.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace muster {

/// A program that starts the processes of its job itself: another launcher, or a script that spawns.
struct NestedLauncher {
  std::string program;           ///< what people call it: "torchrun", "train.py"
  std::string how;               ///< "line 41 calls torch.multiprocessing.spawn with nprocs=8"; empty: it is a launcher
  bool is_certain = true;        ///< false: under a condition that only it knows
  std::string instead;           ///< the command line that was probably meant
  bool is_in_script = false;     ///< that is a line of the shell script that is started
  bool is_launcher = false;      ///< it is another launcher in the end
  std::string on_nodes{};        ///< what was meant if the job has several nodes; empty: `instead`
  bool knows_nodes = false;      ///< a launcher that is told of the job's other nodes
  std::string nodes_variable{};  ///< tells it of them, too
};

/// The text of a file; empty if there is none that can be read.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;

/// What is known of the program by its name and, if Python or a shell is to run a script, by its text. What a
/// script imports is not looked into.
/// `is_python_added`: the first word is an interpreter that the user has not written.
[[nodiscard]] std::optional<NestedLauncher> find_nested_launcher(const std::vector<std::string>& program,
                                                                 bool is_python_added, const ReadText& read_text);

/// How a program would be started on this node.
struct LaunchContext {
  int count = 1;
  std::string mode;
  bool is_mode_given = false;   ///< by the user, who has it so then
  int nodes = 1;                ///< of the job
  bool is_once_a_node = false;  ///< that is the mode's meaning: for programs that spawn
  int tasks_here = 1;           ///< musters that the platform has placed on this host; each starts it
};

/// A program that surely starts its own processes is not started several times on a node, nor a launcher that
/// knows of no other node on several, unless the user says so by naming the mode: `BadUsage`. What remains is a sentence for the start; empty: there is nothing to say.
[[nodiscard]] Result<std::string> check_nested_launcher(const NestedLauncher& own, const LaunchContext& starts);

/// The beginning of a file: the first MiB. Empty if it is no file that can be read.
[[nodiscard]] std::optional<std::string> read_script(const std::string& path);

/// Which words of a command line are the program, and which it is given.
struct ProgramFiles {
  /// Places of the words that are paths from there: a program, and the script that Python or a shell runs.
  std::vector<std::size_t> words;
  bool imports_from_here = false;  ///< Python's -m and -c look there for modules
  /// Where the program's own arguments begin, or those of the script that it runs. Empty: it may be a wrapper of something else.
  std::optional<std::size_t> arguments{};
};

/// `is_python_added`: the first word is an interpreter that the user has not written.
[[nodiscard]] ProgramFiles find_program_files(const std::vector<std::string>& program, bool is_python_added);

struct Wrapped {
  std::span<const std::string> words;
  bool is_python = false;  ///< the first word stands where Python's name would
};

/// What is run in the end. A wrapper that is not known, or whose options are not, is taken for the program.
[[nodiscard]] Wrapped without_wrappers(std::span<const std::string> words);

}  // namespace muster
