#pragma once

// What --version prints.

#include <string>

namespace muster {

[[nodiscard]] std::string version_text();

/// The same, and what the program was built from: commit, target, compiler, and the libraries in it with
/// the Debian packages that they came in.
[[nodiscard]] std::string version_details();

}  // namespace muster
