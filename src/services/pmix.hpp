#pragma once

// Writes the PMIx server, the program that serves the MPI ranks of one node, to a file.

#include "base/result.hpp"

#include <string>

namespace muster {

/// Writes the program to the private directory of the run, once, and returns its path.
[[nodiscard]] Result<std::string> write_pmix_server(const std::string& run_folder);

}  // namespace muster
