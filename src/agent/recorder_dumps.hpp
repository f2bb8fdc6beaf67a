#pragma once

// Asks the flight recorders of PyTorch's ranks for their dumps (docs/hangs.md#collectives). A rank makes a pipe in the
// run folder, and writes a dump beside it when a byte comes.

#include "hang/evidence.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster {

/// Environment variables that make the recorders listen; none where the user has set one of them.
[[nodiscard]] std::map<std::string, std::string> recorder_variables(
    const std::string& run_folder, const std::map<std::string, std::string>& inherited);

/// Adds the progress of each rank whose recorder answers within about a second: for a helper process.
void add_progress(std::vector<hang::RankEvidence>& ranks, const std::string& run_folder);

}  // namespace muster
