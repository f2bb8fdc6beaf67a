#pragma once

// What the runs of a job before this one have left in its state folder (--state-dir): docs/control.md.

#include "agent/run.hpp"
#include "base/json_fwd.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "options/settings.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster {

/// A line of the report and how loud it is.
struct ReportLine {
  Level level = Level::Info;
  std::string text;
};

/// What happened, for people: one line on success; on failure who failed first, why, its last
/// lines, and who was only stopped.
[[nodiscard]] std::vector<ReportLine> describe_outcome(const Outcome& outcome);

/// What happened, for programs: the document that `--report` promises.
[[nodiscard]] json::value to_document(const Outcome& outcome);

/// Removes an older report, and finds out whether a new one can be written: fails by blaming what names
/// the file.
[[nodiscard]] Result<> prepare_report(const Sourced<std::string>& file);

/// The descriptor of ours that a path such as /dev/stdout or /dev/fd/3 names; empty: none.
[[nodiscard]] std::optional<int> stream_of(const std::string& name);

/// Writes the document to a file, whole or not at all. Fails with `System`.
[[nodiscard]] Result<> write_report(const Outcome& outcome, const std::string& path);
/// The same for a document that another node has sent.
[[nodiscard]] Result<> write_report(const std::string& document, const std::string& path);

/// Writes the first failure as torch.distributed.elastic writes one, for the launcher that has started us and looks for it in the
/// file that TORCHELASTIC_ERROR_FILE names: what the worker itself has written, or else what is known of its end. Does nothing where
/// none has failed. Fails with `System`.
/// Source: ErrorHandler in torch/distributed/elastic/multiprocessing/errors/error_handler.py.
[[nodiscard]] Result<> write_error_file(const Outcome& outcome, const std::string& path);

/// Short advice drawn from how the first worker failed; empty when there is none.
[[nodiscard]] std::vector<std::string> hints(const Outcome& outcome);

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
[[nodiscard]] Result<> write_history(const std::string& folder, const RunHistory& before, const JobEnd& end);

/// The content of the file. Pure; empty: it is none.
[[nodiscard]] std::optional<RunHistory> parse_history(const std::string& text);

}  // namespace muster
