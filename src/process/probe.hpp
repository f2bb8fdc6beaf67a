#pragma once

// Asks a program that belongs to muster before the event loop runs.

#include "base/result.hpp"
#include "process/inherited.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster {

/// The answer of a program.
struct ProgramAnswer {
  bool has_succeeded = false;  ///< exited with 0
  std::string first_line;      ///< of output and errors, at most 400 bytes
};

/// Runs a program, by its path and arguments, to its end; kills it and fails after 5 s. Blocks the caller.
[[nodiscard]] Result<ProgramAnswer> probe_program(const std::vector<std::string>& command, const Inherited& inherited,
                                                  const std::map<std::string, std::string>& variables);

}  // namespace muster
