#pragma once

// Bytes that were written as letters.

#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// The bytes of a text in base64, whose last group is filled up with '='; blanks and line ends do not
/// matter. Nothing for any other text.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace muster
