#pragma once

// Commands and options that print something and start nothing.

#include "options.hpp"

#include "plan/launch_plan.hpp"

#include <optional>

namespace muster {

/// The text of --help, --version, --print-man or --print-completion; nothing if none is asked for.
[[nodiscard]] std::optional<Result<std::string>> requested_text(const CommandLine& line);

/// Writes to standard output. Returns the exit code 0, or an error when it cannot be written.
[[nodiscard]] Result<int> print(const Result<std::string>& text);

/// Says what is done otherwise than asked for. A job says that itself, when it starts.
void log_notices(const CommandLine& line);

/// `muster plan`: the plan as the document that is promised, as JSON or YAML.
[[nodiscard]] Result<int> show_plan(const LaunchPlan& plan, bool is_json);

/// `muster explain`: what was detected, each value with its source, and what was seen and not used; as a
/// table or as JSON.
[[nodiscard]] Result<int> explain(const LaunchPlan& plan, bool is_json);

/// `muster explain` where all was decided but what stands in a file that is not right yet: prints that, and returns
/// the error.
[[nodiscard]] Error explain_refusal(Error error, const LaunchPlan& plan, bool is_json);

/// `muster explain` where nothing could be decided: prints what speaks of nodes, and returns the error.
[[nodiscard]] Error explain_refusal(Error error, const Snapshot& snapshot, bool is_json);

}  // namespace muster
