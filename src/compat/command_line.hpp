#pragma once

// A command line after reading: muster's own, or another launcher's.

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
  Last,
  Status,
  Stacks,
  Stop,
  Suspend
};

/// An option of the launchers that muster stands in for: prints their table for the documentation.
inline constexpr const char* kPrintOptions = "print-options";

struct CompatLauncher;

struct CommandLine {
  Command command = Command::Run;
  Settings settings;                 ///< flags, then MUSTER_* variables
  std::vector<std::string> words;    ///< the whole line, as it was typed
  std::vector<std::string> program;  ///< the program and its arguments, untouched
  // Set for another launcher's command line:
  const CompatLauncher* compat = nullptr;     ///< the launcher; nullptr: muster's own command line
  bool is_python_script = false;              ///< Python runs the program, whatever its name ends with
  std::vector<std::string> worker_arguments;  ///< arguments that the original adds to the program's, with
                                              ///< {placeholders}
  std::vector<std::string> notices;           ///< sentences about what is done differently from the request
};

/// True if the line asks for a text and not for a job, so that errors about a job do not matter.
bool requests_text(const Settings& settings);

}  // namespace muster
