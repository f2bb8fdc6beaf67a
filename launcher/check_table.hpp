#pragma once

// `muster check ranktable FILE`: says whether a rank table is one, and what is wrong with it. It waits for
// nothing and starts nothing.

#include "options.hpp"

#include <span>

namespace muster {

[[nodiscard]] OptionTable check_options();
[[nodiscard]] std::string check_help();

/// Reads what stands behind `check`: the kind of file and its name, with options anywhere among them.
[[nodiscard]] Result<> read_check_line(CommandLine& line, std::span<const std::string> tokens);

/// Prints the verdict; the value is the exit code, 65 where the table breaks a rule.
[[nodiscard]] Result<int> run_check(const CommandLine& line, const Snapshot& snapshot);

}  // namespace muster
