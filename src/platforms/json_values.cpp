// Reads values in JSON.
#include "platforms/json_values.hpp"

#include "platforms/hosts.hpp"

#include "base/text.hpp"

namespace muster {

Result<json::value> read_json(const Sourced<std::string>& text, std::string_view expected) {
  boost::system::error_code error;
  json::value document = json::parse(without_byte_order_mark(text.value), error);
  return error ? wrong_value({shortened(text.value), text.source},
                             std::string(expected) + describe_json_mistake(text.value))
               : Result<json::value>(std::move(document));
}

Result<json::object> read_json_object(const Sourced<std::string>& text, std::string_view expected) {
  const auto document = read_json(text, expected);
  if (!document) {
    return document.error();
  }
  const json::object* const members = document->if_object();
  if (members == nullptr) {
    return wrong_value({shortened(text.value), text.source}, expected);
  }
  if (const auto key = find_repeated_key(text.value)) {
    return wrong_value({shortened(text.value), text.source},
                       "each key once, and '" + *key + "' is there twice");
  }
  return *members;
}

std::string shown(const json::value* value) {
  if (value == nullptr) {
    return "";
  }
  const json::string* const text = value->if_string();
  return shortened(text != nullptr ? std::string(*text) : json::serialize(*value));
}

Error wrong_member(const Source& place, const json::value* value, std::string_view expected) {
  return wrong_value({shown(value), place}, expected);
}

Result<std::vector<std::string>> read_json_texts(const Source& place,
                                                 const json::value* value,
                                                 std::string_view expected) {
  const json::array* const entries = value == nullptr ? nullptr : value->if_array();
  if (entries == nullptr || entries->empty()) {
    return wrong_member(place, value, expected);
  }
  std::vector<std::string> texts;
  for (const json::value& entry : *entries) {
    const json::string* const text = entry.if_string();
    if (text == nullptr) {
      return wrong_member(place, value, expected);
    }
    texts.emplace_back(*text);
  }
  return texts;
}

Result<int> read_json_number(const Source& place,
                             const json::value* value,
                             int least,
                             std::string_view expected) {
  const bool is_number = value != nullptr && (value->is_int64() || value->is_uint64());
  const bool is_text = value != nullptr && value->is_string();
  const auto number = is_number || is_text ? parse_integer(shown(value), least, kMostNodes - 1)
                                           : std::optional<int>();
  if (!number) {
    return wrong_member(place, value, expected);
  }
  return *number;
}

}  // namespace muster
