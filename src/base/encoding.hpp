#pragma once

// Decodes base64, compresses and decompresses with zlib (nothing else includes it), and computes digests.

#include "base/result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Decodes base64 whose last group is padded with '='; blanks and line ends are skipped. Empty for any other text.
std::optional<std::string> decode_base64(std::string_view text);

/// Compresses for speed rather than size; the result may be larger than the input.
std::string compress(std::string_view bytes);

/// Reverses `compress`. Fails with `BadData` unless the result has exactly `size` bytes. Stops after one byte more,
/// because `packed` may come from a stranger.
[[nodiscard]] Result<std::string> decompress(std::string_view packed, std::size_t size);

/// Decompresses gzip data; empty if the data end too early. Fails with `BadData` for other bytes, or if the result
/// has more than `most` bytes; makes one byte more at most.
[[nodiscard]] Result<std::optional<std::string>> unpack_gzip(std::string_view packed, std::size_t most);

/// FNV-1a digest as 16 hexadecimal digits, to compare the texts that the nodes of a job were given. Not for secrets.
std::string digest_of(std::string_view text);

}  // namespace muster
