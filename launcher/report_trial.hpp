#pragma once

// The report, before anything is started.

#include "base/result.hpp"
#include "base/source.hpp"

#include <optional>
#include <string>

namespace muster {

/// Removes an older report and finds out whether a new one can be written (report/report.hpp). A file system that does
/// not answer is said, and not waited for. Returns the descriptor of ours that the path names, if it does.
[[nodiscard]] Result<std::optional<int>> try_report(const Sourced<std::string>& file);

}  // namespace muster
