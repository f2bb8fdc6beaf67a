#pragma once

// Numbers as other launchers read them. Private to compat/.

#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Of an integer as Python's int() reads it, such as " 02 ", "+2" and "1_000", the digits, with a sign in front if it is below 0
/// and no zeros. Of any other text nothing.
[[nodiscard]] std::optional<std::string> find_python_integer(std::string_view text);

}  // namespace muster
