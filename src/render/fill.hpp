#pragma once

// Fills a manifest's text, line by line.

#include <map>
#include <string>
#include <string_view>

namespace muster::render {

/// Each {placeholder} is replaced by its value. A line that needs a value which is empty is left out, and the
/// further lines of a value are indented as the placeholder is.
[[nodiscard]] std::string fill_lines(std::string_view text,
                                     const std::map<std::string, std::string>& values);

}  // namespace muster::render
