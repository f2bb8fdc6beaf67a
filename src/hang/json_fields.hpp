#pragma once

// Reads fields of JSON that came from outside: another version of muster, or a program of the user. Private to src/hang.

#include "base/json.hpp"
#include "base/text.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster::hang {

constexpr std::size_t kMostTextBytes = 400;

/// Empty: no text.
[[nodiscard]] inline std::string text_of(const json::value* value) {
  return value != nullptr && value->is_string() ? one_line(std::string_view(value->get_string()), kMostTextBytes) : "";
}

[[nodiscard]] inline std::string text_at(const json::object& object, std::string_view name) {
  return text_of(object.if_contains(name));
}

[[nodiscard]] inline const json::array* array_at(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_array();
}

/// `otherwise`: it is no number of this type.
template <typename Number>
[[nodiscard]] Number number_of(const json::value* value, Number otherwise) {
  boost::system::error_code error;
  const Number number = value != nullptr && value->is_number() ? value->to_number<Number>(error) : otherwise;
  return error ? otherwise : number;
}

/// Calls `visit` with each object of an array.
template <typename Visit>
void for_each_object(const json::array* array, const Visit& visit) {
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    if (const json::object* const member = array->at(i).if_object()) {
      visit(*member);
    }
  }
}

}  // namespace muster::hang
