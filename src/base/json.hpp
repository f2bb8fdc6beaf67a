#pragma once

// Wraps Boost.JSON: everything else includes this header instead.

#include <boost/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

namespace json = boost::json;

/// Parses a text that is one object. Empty: it is not, or has a number such as 1e999, which no double holds:
/// Boost.JSON would write it as a word that no reader takes, and so hide all other fields.
std::optional<json::object> parse_object(std::string_view text, const json::parse_options& options = {});

/// The value's text, as a view into it; empty: the value or member is missing, or is no text.
std::string_view text_of(const json::value* value);
std::string_view text_of(const json::object& object, std::string_view key);

/// The member if it is an array; null: missing, or of another type.
template <typename Object>
auto* array_of(Object& object, std::string_view key) {
  auto* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_array();
}

/// Calls `function` with each object of a list; null is an empty list.
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

/// The document indented by two blanks with a final line end, for people and `diff`.
std::string pretty_json(const json::value& document);

/// The first key that occurs twice in one object, up to the first error in the text; empty: none does.
std::optional<std::string> find_repeated_key(std::string_view text);

/// Names a mistake that people make in JSON, ", and JSON has no comments": comments, a trailing comma, single quotes,
/// True, blanks other than ASCII's. Empty for other mistakes, and for valid JSON.
std::string describe_json_mistake(std::string_view given);

/// Number of keys in a JSON text, counting repeated ones.
std::size_t count_keys(std::string_view text);

/// Makes each text in the document valid UTF-8, as JSON requires: variables, paths and arguments are any bytes.
void make_valid_utf8(json::value& document);

}  // namespace muster
