#pragma once

// A golden case: a folder that says how a node looks, what the user asked for, and which plan or
// error is expected. docs/add-a-platform.md describes the files.

#include <muster/base/result.hpp>
#include <muster/environment/settings.hpp>
#include <muster/environment/snapshot.hpp>
#include <muster/plan/launch_plan.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace muster::golden {

struct Case {
  Snapshot snapshot;
  Settings settings;
  std::vector<std::string> program;
  std::vector<std::string> command_line;  ///< instead: argv, read as the program reads it
};

/// The case in `folder`. A file that no case has, or a line that says nothing, is an error: a
/// typing error must not turn a test into one of something else.
[[nodiscard]] Result<Case> read_case(const std::filesystem::path& folder);

/// What the stages up to the plan make of it, as the files of a case hold it.
struct Outcome {
  std::string file;  ///< expected.yaml or expected-error.txt
  std::string text;
};

[[nodiscard]] Outcome outcome_of(const Case& given);

/// The first line in which the two differ, with its number and the lines before it; empty when
/// they are the same.
[[nodiscard]] std::string first_difference(const std::string& expected, const std::string& actual);

}  // namespace muster::golden
