#pragma once

// The text of a rank table as JSON, and numbers in it that may be text.

#include "rank_table/memory.hpp"

#include "base/json.hpp"
#include "rank_table/rank_table.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace muster::rank_table {

/// What was not finished yet, or is no JSON object.
using Document = std::variant<json::object, Unfinished, Breach>;

/// All values live in `memory`, which has to live longer. Text that ends in the middle is unfinished, and so
/// is a table whose `status` is not "completed".
[[nodiscard]] Document parse(std::string_view text, Memory& memory);

/// A text once more that `parse` has made an object of.
[[nodiscard]] json::object parse_again(std::string_view text, Memory& memory);

/// 8 or "8"; empty: neither, below 0, or beyond an int.
[[nodiscard]] std::optional<int> number_of(const json::value* value);

/// Of the member, a part of it; empty: there is none, or it is no text.
[[nodiscard]] std::string_view text_of(const json::object& object, std::string_view key);

/// The member as text, also where it is a number; empty: there is none, or it is neither.
[[nodiscard]] std::string plain_text(const json::object& object, std::string_view key);

/// As it is written, for a `Breach`; shortened. Empty: there is none.
[[nodiscard]] std::string written(const json::value* value);

/// The member if it is of that kind; null: there is none, or it is of another.
[[nodiscard]] json::array* array_of(json::object& object, std::string_view key);
[[nodiscard]] const json::array* array_of(const json::object& object, std::string_view key);

/// Calls back with each object of a list; null is a list without any.
template <typename Array, typename Function>
void for_each_object(Array* list, const Function& function) {
  if (list == nullptr) {
    return;
  }
  for (auto& item : *list) {
    if (auto* object = item.if_object()) {
      function(*object);
    }
  }
}

/// What HCCL wants as text in forms 1.x.
inline constexpr std::array<std::string_view, 8> kDeviceTexts = {"device_id",
                                                                 "rank_id",
                                                                 "device_port",
                                                                 "device_vnic_port",
                                                                 "host_port",
                                                                 "backup_device_port",
                                                                 "numa_id",
                                                                 "super_device_id"};

}  // namespace muster::rank_table
