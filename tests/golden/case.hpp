#pragma once

// A golden case: how a node looks, what the user asked for, and what comes of it.
// docs/contributing.md describes the lines.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "options/settings.hpp"
#include "plan_job.hpp"

#include <string>
#include <vector>

namespace muster::golden {

struct Case {
  Snapshot snapshot;
  Settings settings;
  std::vector<std::string> program = {"python3", "train.py"};
  std::vector<std::string> command_line;  ///< instead: argv, read as the program reads it
  bool is_full = false;                   ///< shows what the mode gives to every process, too
  bool shows_lost = false;                ///< shows what was seen and not used
};

/// The case that the lines describe. A line that says nothing is an error.
[[nodiscard]] Result<Case> read_case(const std::vector<std::string>& lines);

/// The plan that the stages make of a case.
[[nodiscard]] Result<Planned> plan_of(const Case& given);

}  // namespace muster::golden
