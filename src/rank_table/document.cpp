// Parses the text of a table, and says what is not a table yet.
#include "rank_table/document.hpp"

#include "rank_table/print.hpp"
#include "rank_table/progress.hpp"

#include <muster/base/text.hpp>

#include <algorithm>
#include <limits>

namespace muster::rank_table {
namespace {

constexpr std::size_t kShownBytes = 60;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

Breach not_json(std::string_view text, std::size_t end, const std::string& why) {
  const auto lines =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  return {"line " + std::to_string(lines + 1), "no JSON (" + why + ")", "a JSON object", "EI0004"};
}

}  // namespace

Document parse(std::string_view text, json::monotonic_resource& memory) {
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());  // HCCL takes it, too
  }
  if (text.ends_with('\0')) {
    return Unfinished{"it ends in the middle (being written)"};  // a hole that is filled later
  }
  json::stream_parser parser;
  parser.reset(&memory);
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
  return std::move(root.get_object());
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
