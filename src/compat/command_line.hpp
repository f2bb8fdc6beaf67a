#pragma once

// A command line after it has been read, muster's own or another launcher's.

#include "options/settings.hpp"

#include <string>
#include <vector>

namespace muster {

enum class Command {
  Run,
  Plan,
  Explain,
  Render,
  Check,
  Doctor,
  Token,
  Status,
  Stop,
  Suspend
};

/// An option of the front ends, which prints their table for the documentation.
inline constexpr const char* kPrintOptions = "print-options";

struct CompatLauncher;

struct CommandLine {
  Command command = Command::Run;
  Settings settings;                 ///< flags, then MUSTER_* variables
  std::vector<std::string> words;    ///< all of it, as it was typed
  std::vector<std::string> program;  ///< the program and its arguments, untouched
  // Of another launcher's command line:
  const CompatLauncher* compat = nullptr;     ///< whose command line it was; empty: muster's own
  bool is_python_script = false;              ///< the program is for Python, whatever its name ends with
  std::vector<std::string> worker_arguments;  ///< what the original adds to the program's, with
                                              ///< {placeholders}
  std::vector<std::string> notices;           ///< sentences about what is done otherwise than asked for
};

/// True when a text is wanted and no job, so that nothing about a job can be wrong.
[[nodiscard]] bool requests_text(const Settings& settings);

}  // namespace muster
