#pragma once

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "base/log.hpp"
#include "options/settings.hpp"
#include "agent/outcome.hpp"

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

}  // namespace muster
