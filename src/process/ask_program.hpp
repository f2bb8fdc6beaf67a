#pragma once

// A short question to a program of muster's own, before the event loop runs. Private to run/.

#include "process/spawn.hpp"

#include "base/result.hpp"
#include "services/companion.hpp"

#include <map>
#include <string>

namespace muster {

/// How a program of muster's own is started: with these variables and what is asked for beside them; it reads from the one
/// descriptor, and writes output and errors to the other.
[[nodiscard]] SpawnRequest request_of(const SidecarRequest& asked,
                                      std::map<std::string, std::string> variables,
                                      int input,
                                      int output);

/// What it has answered.
struct ProgramAnswer {
  bool has_succeeded = false;  ///< it ended with 0
  std::string first_line;      ///< of its output and error, at most 400 bytes
};

/// Runs it to its end, which is waited for 5 s; then it is killed, and this fails. To be called where nothing else is to
/// be done meanwhile.
[[nodiscard]] Result<ProgramAnswer> probe_program(
    const SidecarRequest& request,
    const Inherited& inherited,
    const std::map<std::string, std::string>& variables);

}  // namespace muster
