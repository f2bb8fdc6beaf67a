#pragma once

// Bytes that were written as letters.

#include "base/result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// The bytes of a text in base64, whose last group is filled up with '='; blanks and line ends do not
/// matter. Nothing for any other text.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

// The one door to zlib.

/// The bytes in less space, quickly rather than well. Some take more space than before.
[[nodiscard]] std::string compress(std::string_view bytes);

/// The reverse. Fails with `BadData` unless exactly `size` bytes come out of it, and never makes more
/// than that, whatever a stranger has packed.
[[nodiscard]] Result<std::string> decompress(std::string_view packed, std::size_t size);

/// What gzip has packed; nothing where that ends too early. Fails with `BadData` for other bytes, and where
/// more than `most` would come out; never makes more than one byte above that.
[[nodiscard]] Result<std::optional<std::string>> unpack_gzip(std::string_view packed, std::size_t most);

/// 16 hexadecimal digits that tell two texts apart which nodes of one job were given (FNV-1a). They keep no
/// secret.
[[nodiscard]] std::string digest_of(std::string_view text);

}  // namespace muster
