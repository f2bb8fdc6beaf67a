#pragma once

// The one door to zlib.

#include <muster/base/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

/// The bytes in less space, quickly rather than well. Some take more space than before.
[[nodiscard]] std::string compress(std::string_view bytes);

/// The reverse. Fails with `BadData` unless exactly `size` bytes come out of it, and never makes more
/// than that, whatever a stranger has packed.
[[nodiscard]] Result<std::string> decompress(std::string_view packed, std::size_t size);

}  // namespace muster
