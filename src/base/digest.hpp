#pragma once

#include <string>
#include <string_view>

namespace muster {

/// 16 hexadecimal digits that tell two texts apart which nodes of one job were given (FNV-1a). They keep no
/// secret.
[[nodiscard]] std::string digest_of(std::string_view text);

}  // namespace muster
