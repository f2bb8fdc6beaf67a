#pragma once

// Runs a command of the user, which is no worker, from within a helper process.

#include "process/inherited.hpp"

#include <chrono>
#include <map>
#include <string>

namespace muster {

struct ShellCommand {
  std::string text;  ///< for /bin/sh -c
  std::map<std::string, std::string> environment;
};

struct CommandResult {
  std::string problem;  ///< "ended with exit code 3, expected exit code 0"; empty: none
  std::string output;   ///< of both streams, at most 1 MiB
};

/// Waits until the command has ended and nothing writes to its output any more. Kills its process group when time is
/// up or the other end of the pipe `lifeline` is closed, which is no problem. To be used in a helper process alone.
[[nodiscard]] CommandResult run_limited(const ShellCommand& command, const Inherited& inherited,
                                        std::chrono::seconds time_limit, int lifeline);

}  // namespace muster
