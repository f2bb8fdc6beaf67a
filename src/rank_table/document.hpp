#pragma once

// The text of a rank table as JSON, and numbers in it that may be text.

#include <muster/base/json.hpp>
#include <muster/rank_table/rank_table.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace muster::rank_table {

/// What was not finished yet, or is no JSON object.
using Document = std::variant<json::object, Unfinished, Breach>;

/// All values live in `memory`, which has to live longer. Text that ends in the middle is unfinished, and so
/// is a table whose `status` is not "completed".
[[nodiscard]] Document parse(std::string_view text, json::monotonic_resource& memory);

/// 8 or "8"; empty: neither, or below 0.
[[nodiscard]] std::optional<int> number_of(const json::value* value);

/// Of the member, a part of it; empty: there is none, or it is no text.
[[nodiscard]] std::string_view text_of(const json::object& object, std::string_view key);

/// As it is written, for a `Breach`; shortened. Empty: there is none.
[[nodiscard]] std::string written(const json::value* value);

/// The member if it is of that kind; null: there is none, or it is of another.
[[nodiscard]] json::array* array_of(json::object& object, std::string_view key);
[[nodiscard]] const json::array* array_of(const json::object& object, std::string_view key);

}  // namespace muster::rank_table
