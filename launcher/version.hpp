#pragma once

// What --version prints.

#include "compat/front_end.hpp"

#include <string>

namespace muster {

/// In the place of another launcher it names that one's product, by which others tell what they have found.
[[nodiscard]] std::string version_text(const CompatLauncher* compat = nullptr);

/// The same, and what the program was built from: commit, target, compiler, and the libraries in it with
/// the Debian packages that they came in.
[[nodiscard]] std::string version_details();

}  // namespace muster
