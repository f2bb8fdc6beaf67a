// Parses the text of a table, and says what is not a table yet.
#include "rank_table/document.hpp"

#include "rank_table/print.hpp"
#include "rank_table/progress.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace muster::rank_table {
namespace {

constexpr std::size_t kShownBytes = 60;
constexpr std::string_view kBlanks = " \t\r\n";

bool has_zero(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] == '\0';
}

/// A hole at its end that is filled later, and not what never was JSON: in UTF-16 a zero follows each letter.
bool is_being_written(std::string_view text) {
  const std::size_t start = std::min(text.find_first_not_of(kBlanks), text.size());
  const std::string_view rest = text.substr(start);
  const auto is_zero_from = [&rest](std::size_t at) {
    return rest.find_first_not_of('\0', at) == std::string_view::npos;
  };
  return is_zero_from(0) || (rest.starts_with('{') && (!has_zero(rest, 1) || is_zero_from(1)));
}

/// What an editor or a pipe makes of a table; empty: something else.
std::string_view other_coding(std::string_view text) {
  if (text.starts_with("\x1F\x8B")) {
    return "it is compressed with gzip";
  }
  const bool is_marked = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  return is_marked || has_zero(text, 0) || has_zero(text, 1) ? "it is UTF-16 and not UTF-8" : "";
}

Breach not_json(std::string_view text, std::size_t end, std::string_view error) {
  const std::string_view coding = other_coding(text);
  const std::string why =
      std::string(coding.empty() ? error : coding) + describe_json_mistake(text);
  const auto lines =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  return {"line " + std::to_string(lines + 1), "no JSON (" + why + ")", "a JSON object", "EI0004"};
}

// NOLINTBEGIN(misc-no-recursion): documents are as deep as the parser lets them be
std::optional<std::string> path_of_infinite(const json::value& value);

std::optional<std::string> path_of_infinite_in(const json::array& array) {
  for (std::size_t i = 0; i < array.size(); ++i) {
    if (const auto found = path_of_infinite(array[i])) {
      return "[" + std::to_string(i) + "]" + *found;
    }
  }
  return std::nullopt;
}

std::optional<std::string> path_of_infinite_in(const json::object& object) {
  for (const auto& member : object) {
    if (const auto found = path_of_infinite(member.value())) {
      return "." + std::string(member.key()) + *found;
    }
  }
  return std::nullopt;
}

/// A number that is only known to be too large; HCCL's parser does not take it. Empty: there is none.
std::optional<std::string> path_of_infinite(const json::value& value) {
  if (const json::array* array = value.if_array()) {
    return path_of_infinite_in(*array);
  }
  if (const json::object* object = value.if_object()) {
    return path_of_infinite_in(*object);
  }
  const double* number = value.if_double();
  return number != nullptr && std::isinf(*number) ? std::optional<std::string>("") : std::nullopt;
}
// NOLINTEND(misc-no-recursion)

}  // namespace

Document parse(std::string_view text, Memory& memory) {
  text = without_byte_order_mark(text);  // HCCL takes it, too
  if (text.ends_with('\0') && is_being_written(text)) {
    return Unfinished{"it ends in the middle (being written)"};
  }
  json::stream_parser parser;
  parser.reset(&memory.values);
  boost::system::error_code error;
  const std::size_t end = parser.write_some(text.data(), text.size(), error);
  const std::string_view rest = text.substr(std::min(end, text.size()));
  if (!error && !trim(rest).empty()) {
    return not_json(text, end, "text behind the end");
  }
  if (error) {
    return not_json(text, end, error.message());
  }
  if (!parser.done()) {
    return Unfinished{trim(text).empty() ? "it is empty" : "it ends in the middle (being written)"};
  }
  json::value root = parser.release();
  if (!root.is_object()) {
    return Breach{"the file", written(&root), "a JSON object", "EI0004"};
  }
  if (auto unfinished = find_progress(root.get_object())) {
    return std::move(*unfinished);
  }
  if (const auto path = path_of_infinite(root)) {
    return Breach{path->substr(1), "too large", "a number below 1.8e308", "EI0004"};
  }
  return std::move(root.get_object());
}

json::object parse_again(std::string_view text, Memory& memory) {
  return std::move(json::parse(without_byte_order_mark(text), &memory.values).as_object());
}

std::optional<int> number_of(const json::value* value) {
  constexpr int kMost = std::numeric_limits<int>::max();
  if (value == nullptr) {
    return std::nullopt;
  }
  if (const auto* text = value->if_string()) {
    return parse_integer({text->data(), text->size()}, 0, kMost);
  }
  const std::int64_t* number = value->if_int64();
  if (number == nullptr || *number < 0 || *number > kMost) {
    return std::nullopt;
  }
  return static_cast<int>(*number);
}

std::string_view text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view{} : std::string_view{text->data(), text->size()};
}

std::string plain_text(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  const bool is_number = value != nullptr && (value->is_int64() || value->is_uint64());
  return is_number ? json::serialize(*value) : std::string(text_of(object, key));
}

std::string written(const json::value* value) {
  if (value == nullptr) {
    return {};
  }
  if (value->is_array()) {
    return value->get_array().empty() ? "an empty list" : "a list";
  }
  return value->is_object() ? "an object" : one_line(compact(*value), kShownBytes);
}

json::array* array_of(json::object& object, std::string_view key) {
  json::value* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_array();
}

const json::array* array_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_array();
}

}  // namespace muster::rank_table
