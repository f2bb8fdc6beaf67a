#pragma once

// `muster token`: draws a secret for the links of a job.

#include "options.hpp"

#include <span>
#include <string>

namespace muster {

[[nodiscard]] OptionTable token_options();
[[nodiscard]] std::string token_help();

/// Reads what stands behind `token`: options only.
[[nodiscard]] Result<> read_token_line(CommandLine& line, std::span<const std::string> tokens);

/// Prints a new one.
[[nodiscard]] Result<int> run_token();

}  // namespace muster
