#pragma once

// A document as text: a device on a line, so that people and `diff` can read a large one.

#include <muster/base/json.hpp>

#include <string>

namespace muster::rank_table {

/// The same document gives the same bytes.
[[nodiscard]] std::string print(const json::object& root);

}  // namespace muster::rank_table
