#pragma once

// What programs say when they fail: last_words.txt, embedded at build time. Private to supervise/.

#include <string_view>

namespace muster {

[[nodiscard]] std::string_view last_words();

}  // namespace muster
