#pragma once

#include <cstddef>
#include <string_view>

namespace muster {

/// Length of the valid UTF-8 sequence that `bytes`, which are not none, start with; 0 if they start with none.
[[nodiscard]] std::size_t utf8_sequence(std::string_view bytes);

/// The character of a valid sequence.
[[nodiscard]] char32_t utf8_character(std::string_view sequence);

}  // namespace muster
