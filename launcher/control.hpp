#pragma once

// `muster status`, `stop` and `suspend`: they ask a job that runs on this machine, and by it all of its nodes.

#include "options.hpp"

#include <span>
#include <string>

namespace muster {

/// True of a command that this file answers.
[[nodiscard]] bool is_control(Command command);

/// The options of one of them.
[[nodiscard]] OptionTable control_options(Command command);
[[nodiscard]] std::string control_help(Command command);

/// Reads what stands behind `status`, `stop` or `suspend`: options only.
[[nodiscard]] Result<> read_control_line(CommandLine& line, std::span<const std::string> tokens);

/// Asks the job and prints the answer.
[[nodiscard]] Result<int> run_control(const CommandLine& line, const Snapshot& snapshot);

}  // namespace muster
