#pragma once

// A document as text: a device on a line, so that people and `diff` can read a large one.

#include <muster/base/json.hpp>

#include <string>

namespace muster::rank_table {

/// The same document gives the same bytes, about `size` of them. It is used up, since it may be large.
[[nodiscard]] std::string print(json::object&& root, std::size_t size = 0);

}  // namespace muster::rank_table
