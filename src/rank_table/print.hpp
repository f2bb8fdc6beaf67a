#pragma once

// A document as text: a device on a line, so that people and `diff` can read a large one.

#include "base/json.hpp"

#include <string>

namespace muster::rank_table {

/// On one line. Numbers with a fraction or an exponent are written as people do, 0.1 and 1.0, by the fifteen
/// digits that survive any parser.
[[nodiscard]] std::string compact(const json::value& value);

/// The same document gives the same bytes, about `size` of them. It is used up, since it may be large.
[[nodiscard]] std::string print(json::object&& root, std::size_t size = 0);

}  // namespace muster::rank_table
