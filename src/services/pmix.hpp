#pragma once

// The program that serves MPI's ranks of one node.

#include "base/result.hpp"

#include <string>

namespace muster {

/// Writes it to the private folder of the run, once, and returns its path.
[[nodiscard]] Result<std::string> write_pmix_server(const std::string& run_folder);

}  // namespace muster
