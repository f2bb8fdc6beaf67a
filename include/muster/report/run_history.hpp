#pragma once

// What the runs of a job before this one have left in its state folder (--state-dir): docs/control.md.

#include <muster/base/result.hpp>
#include <muster/run/outcome.hpp>

#include <optional>
#include <string>

namespace muster {

struct RunHistory {
  int runs = 0;         ///< that have ended
  std::string verdict;  ///< of the last one; empty: there was none
};

/// The folder of a job below `state_dir`: by its id, in which only letters, digits, '.', '_' and '-' stay as they are; without an
/// id 'job'.
[[nodiscard]] std::string state_folder_of(const std::string& state_dir, const std::string& job_id);

/// Makes the folder, and reads what is there. Its file system is not waited for longer than a few seconds. What cannot be read is a
/// history of no runs; fails with `System` where the folder cannot be had.
[[nodiscard]] Result<RunHistory> open_history(const std::string& folder);

/// Adds this run, whole or not at all. To be called where a file system may hang. Fails with `System`.
[[nodiscard]] Result<> write_history(const std::string& folder,
                                     const RunHistory& before,
                                     const JobEnd& end);

/// The content of the file. Pure; empty: it is none.
[[nodiscard]] std::optional<RunHistory> parse_history(const std::string& text);

}  // namespace muster
