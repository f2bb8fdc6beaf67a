#pragma once

// The one door to zlib.

#include "base/result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// The bytes in less space, quickly rather than well. Some take more space than before.
[[nodiscard]] std::string compress(std::string_view bytes);

/// The reverse. Fails with `BadData` unless exactly `size` bytes come out of it, and never makes more
/// than that, whatever a stranger has packed.
[[nodiscard]] Result<std::string> decompress(std::string_view packed, std::size_t size);

/// What gzip has packed; nothing where that ends too early. Fails with `BadData` for other bytes, and where
/// more than `most` would come out; never makes more than one byte above that.
[[nodiscard]] Result<std::optional<std::string>> unpack_gzip(std::string_view packed,
                                                             std::size_t most);

}  // namespace muster
