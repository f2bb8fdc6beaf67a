#pragma once

#include <cstddef>
#include <string_view>

namespace muster {

/// How many columns of a terminal a character takes, which is given as its bytes in UTF-8: 0 where it cannot be seen or is
/// drawn over the one before it, 2 where it is wide, else 1. Terminals may differ about characters that are new or rare.
[[nodiscard]] int display_width(std::string_view character);

/// How many columns a text takes, of which no line is broken. Bytes that are no UTF-8 take one each.
[[nodiscard]] std::size_t columns_of_text(std::string_view text);

/// A space of whatever width.
[[nodiscard]] bool is_blank(std::string_view character);

}  // namespace muster
