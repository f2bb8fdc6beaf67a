#pragma once

// `muster doctor`: which guarantees hold on this system. It starts nothing.

#include "options.hpp"

#include "process/guarantees.hpp"

#include <span>
#include <string>

namespace muster {

[[nodiscard]] OptionTable doctor_options();
[[nodiscard]] std::string doctor_help();

/// Reads what stands behind `doctor`: options only.
[[nodiscard]] Result<> read_doctor_line(CommandLine& line, std::span<const std::string> tokens);

/// Asks the system and prints the answer; the value is the exit code, 71 where a guarantee does not hold.
[[nodiscard]] Result<int> run_doctor(const CommandLine& line);

}  // namespace muster
