#pragma once

// Finds launchers, Python scripts that spawn, and wrappers in a command line, as in "timeout 5 torchrun train.py".

#include "base/file_io.hpp"
#include "compat/known_launchers.hpp"
#include "plan/launch_plan.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace muster {

/// A program that starts the processes of its job itself: another launcher, or a script that spawns.
struct NestedLauncher {
  std::string program;       ///< its usual name: "torchrun", "train.py"
  std::string how;           ///< "line 41 calls torch.multiprocessing.spawn with nprocs=8"; empty for a launcher
  SuggestedCommand instead;  ///< what was probably meant
  bool is_launcher = false;  ///< it is another launcher
};

/// Finds a launcher that muster starts once on each node among the words of a command line; empty: there is none.
std::optional<StartedOnce> find_started_once(std::span<const std::string> program);

/// Examines the program by its name and, if it is a Python script, by the script's text. Imports, and scripts of a
/// shell, are not followed. `is_python_added`: muster added the first word, an interpreter.
std::optional<NestedLauncher> find_nested_launcher(const std::vector<std::string>& program, bool is_python_added,
                                                   const ReadText& read_text);

/// The start of the program on this node.
struct LaunchContext {
  int count = 1;
  std::string mode;
  bool is_mode_given = false;  ///< the user names the mode, which is then respected
  int nodes = 1;               ///< number of nodes in the job
  int tasks_here = 1;          ///< agents that the platform runs on this host; each one starts the program
};

/// Warns of a program that would start its own processes several times on a node, or, on several nodes, of a launcher
/// that does not know the others. Empty: no warning; also for a line of a script if the user names the mode.
std::string check_nested_launcher(const NestedLauncher& own, const LaunchContext& starts);

/// The first MiB of a file; empty if it is no regular file that can be read.
std::optional<std::string> read_script(const std::string& path);

/// Finds the files among the words of a command line. `is_python_added`: muster added the first word, an interpreter.
ProgramFiles find_program_files(const std::vector<std::string>& program, bool is_python_added);

/// True for an interpreter without a script, which reads its program from standard input: "python3 -", "bash -s".
bool reads_program_from_input(const std::vector<std::string>& program);

struct Wrapped {
  std::span<const std::string> words;
  bool is_python = false;  ///< the wrapper runs Python itself: the first word stands for its name
};

/// The words without known wrappers. An unknown wrapper, or one with unknown options, counts as the program.
Wrapped without_wrappers(std::span<const std::string> words);

}  // namespace muster
