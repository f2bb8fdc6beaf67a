#pragma once

#include <string>

namespace muster {

/// The path of this program, as a word that others can start it by while it runs: without blanks and colons.
[[nodiscard]] std::string own_program();

}  // namespace muster
