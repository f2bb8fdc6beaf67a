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

/// One line; empty: no text.
inline std::string line_of(const json::value* value) {
  return one_line(text_of(value), kMostTextBytes);
}
inline std::string line_of(const json::object& object, std::string_view name) {
  return line_of(object.if_contains(name));
}

/// `otherwise`: it is no number of this type.
template <typename Number>
Number number_of(const json::value* value, Number otherwise) {
  boost::system::error_code error;
  const Number number = value != nullptr && value->is_number() ? value->to_number<Number>(error) : otherwise;
  return error ? otherwise : number;
}

}  // namespace muster::hang
