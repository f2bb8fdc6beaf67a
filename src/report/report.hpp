#pragma once

// Writes the report of a run, for people and programs, and the history of a job's runs (--state-dir):
// docs/control.md.

#include "base/json_fwd.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "options/settings.hpp"
#include "run/outcome.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster {

/// A line of the report and its log level.
struct ReportLine {
  Level level = Level::Info;
  std::string text;
};

/// The outcome for people: one line on success; on failure the worker that failed first, why, its last lines, and the
/// workers that were only stopped.
std::vector<ReportLine> describe_outcome(const Outcome& outcome);

/// The outcome for programs: the document that `--report` promises.
json::value to_document(const Outcome& outcome);

/// Removes an older report and checks that a new one can be written. An error names the option or variable that gave
/// the file.
[[nodiscard]] Result<> prepare_report(const Sourced<std::string>& file);

/// Our descriptor that a path such as /dev/stdout or /dev/fd/3 names; empty: none.
std::optional<int> stream_of(const std::string& name);

/// Writes the document to a file, which then is complete or unchanged. Fails with `System`.
[[nodiscard]] Result<> write_report(const Outcome& outcome, const std::string& path);
/// Writes a document that another node has sent.
[[nodiscard]] Result<> write_report(const std::string& document, const std::string& path);

/// Writes the first failure in the format of torch.distributed.elastic to the file in TORCHELASTIC_ERROR_FILE, for
/// the launcher that has started us: the worker's own error file, or else what is known of its end. Does nothing when
/// none has failed. Fails with `System`.
/// Source: ErrorHandler in torch/distributed/elastic/multiprocessing/errors/error_handler.py.
[[nodiscard]] Result<> write_error_file(const Outcome& outcome, const std::string& path);

/// Short advice drawn from how the first worker failed; empty when there is none.
std::vector<std::string> hints(const Outcome& outcome);

struct RunHistory {
  int runs = 0;         ///< that have ended
  std::string verdict;  ///< of the last run; empty: none
};

/// The state folder of a job in `state_dir`, named by the job's id, in which other characters than letters, digits,
/// '.', '_' and '-' become '_'; "job" without an id.
std::string state_folder_of(const std::string& state_dir, const std::string& job_id);

/// Creates the folder and reads its history, with a timeout of a few seconds for the file system. Unreadable content
/// counts as no runs; fails with `System` when the folder cannot be created.
[[nodiscard]] Result<RunHistory> open_history(const std::string& folder);

/// Adds this run; then the file is complete or unchanged. Blocks while the file system hangs. Fails with `System`.
[[nodiscard]] Result<> write_history(const std::string& folder, const RunHistory& before, const JobEnd& end);

/// Parses the content of the file. Empty: it is invalid. Pure.
std::optional<RunHistory> parse_history(const std::string& text);

}  // namespace muster
