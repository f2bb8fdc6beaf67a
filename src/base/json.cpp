// Adds to Boost.JSON: indented output, repair of invalid UTF-8, repeated keys, and names for mistakes in JSON.
#include "base/json.hpp"

#include "base/display_text.hpp"
#include "base/text.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <vector>

namespace muster {
namespace {

bool is_flat(const json::array& array) {
  return std::ranges::none_of(array, [](const json::value& item) { return item.is_object() || item.is_array(); });
}

// The recursion is shallow: only the program's own documents, a few levels deep, are printed.
// NOLINTBEGIN(misc-no-recursion)
void append(std::string& out, const json::value& value, std::size_t depth);

void append_line_start(std::string& out, bool is_first, std::size_t depth) {
  out += is_first ? "\n" : ",\n";
  out.append(2 * depth, ' ');
}

void append_object(std::string& out, const json::object& object, std::size_t depth) {
  out += '{';
  bool is_first = true;
  for (const auto& member : object) {
    append_line_start(out, std::exchange(is_first, false), depth + 1);
    out += json::serialize(member.key()) + ": ";
    append(out, member.value(), depth + 1);
  }
  if (!object.empty()) {
    out += '\n';
    out.append(2 * depth, ' ');
  }
  out += '}';
}

void append_array(std::string& out, const json::array& array, std::size_t depth) {
  out += '[';
  bool is_first = true;
  for (const json::value& item : array) {
    append_line_start(out, std::exchange(is_first, false), depth + 1);
    append(out, item, depth + 1);
  }
  out += '\n';
  out.append(2 * depth, ' ');
  out += ']';
}

void append(std::string& out, const json::value& value, std::size_t depth) {
  if (value.is_object()) {
    append_object(out, value.get_object(), depth);
  } else if (value.is_array() && !is_flat(value.get_array())) {
    append_array(out, value.get_array(), depth);
  } else if (value.is_double()) {
    std::array<char, 32> text{};  // "0.526", where Boost.JSON writes 5.26E-1
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value.get_double());
    out += error == std::errc{} ? std::string(text.data(), end) : json::serialize(value);
  } else {
    out += json::serialize(value);
  }
}
// NOLINTEND(misc-no-recursion)

/// Names the mistake at which a parser stopped; empty: none of the known ones.
std::string mistake_at(std::string_view text, std::size_t at) {
  const std::string_view before = trim(text.substr(0, at));
  const std::string_view rest = text.substr(at);
  const char last = before.empty() ? '\0' : before.back();
  if ((rest.front() == '}' || rest.front() == ']') && last == ',') {
    return "comma before a closing bracket";
  }
  for (const std::string_view word : {"True", "False", "None"}) {
    if (rest.starts_with(word)) {
      return std::string(word) + ", but true, false and null";
    }
  }
  const bool is_comment = rest.front() == '#' || rest.starts_with("//") || rest.starts_with("/*");
  const bool is_blank = with_plain_blanks(rest).front() == ' ' && rest.front() != ' ';
  return is_comment             ? "comments"
         : rest.front() == '\'' ? "single quotes, but double ones"
         : is_blank             ? "blanks but those of ASCII"
                                : "";
}

}  // namespace

std::string describe_json_mistake(std::string_view given) {
  const std::string_view text = without_byte_order_mark(given);
  json::stream_parser parser;
  boost::system::error_code error;
  const std::size_t end = parser.write_some(text.data(), text.size(), error);
  if (!error || end >= text.size()) {
    return "";
  }
  const std::string mistake = mistake_at(text, end);
  return mistake.empty() ? "" : ", and JSON has no " + mistake;
}

std::string pretty_json(const json::value& document) {
  std::string out;
  append(out, document, 0);
  out += '\n';
  return visible_json(out);
}

// The program's own documents are a few levels deep.
// NOLINTNEXTLINE(misc-no-recursion)
void make_valid_utf8(json::value& document) {
  if (document.is_string()) {
    const json::string& text = document.get_string();
    document = valid_utf8(std::string_view(text.data(), text.size()));
  } else if (document.is_array()) {
    for (json::value& item : document.get_array()) {
      make_valid_utf8(item);
    }
  } else if (document.is_object()) {
    json::object valid;
    for (auto& member : document.get_object()) {
      make_valid_utf8(member.value());
      valid[valid_utf8(std::string_view(member.key()))] = std::move(member.value());
    }
    document = std::move(valid);
  }
}

// Finds keys that occur twice in an object: Boost.JSON silently keeps the last.

namespace {

/// Handler for boost::json::basic_parser that records keys only.
struct KeyWatcher {
  // NOLINTBEGIN(readability-identifier-naming): the parser's names
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
  // NOLINTEND(readability-identifier-naming)

  using Text = json::string_view;
  using Error = boost::system::error_code;

  std::vector<std::set<std::string>> objects;  ///< keys of the objects that are open
  std::string key;                             ///< the part of the key that has been read
  std::optional<std::string> repeated;

  bool on_object_begin(Error& /*error*/) {
    objects.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t /*size*/, Error& /*error*/) {
    objects.pop_back();
    return true;
  }
  bool on_key_part(Text part, std::size_t /*size*/, Error& /*error*/) {
    key.append(part.data(), part.size());
    return true;
  }
  bool on_key(Text part, std::size_t /*size*/, Error& /*error*/) {
    key.append(part.data(), part.size());
    if (!objects.back().insert(key).second && !repeated) {
      repeated = key;
    }
    key.clear();
    return true;
  }

  // NOLINTBEGIN(readability-convert-member-functions-to-static): the parser calls them on an object
  bool on_document_begin(Error& /*error*/) { return true; }
  bool on_document_end(Error& /*error*/) { return true; }
  bool on_array_begin(Error& /*error*/) { return true; }
  bool on_array_end(std::size_t /*size*/, Error& /*error*/) { return true; }
  bool on_string_part(Text /*part*/, std::size_t /*size*/, Error& /*error*/) { return true; }
  bool on_string(Text /*part*/, std::size_t /*size*/, Error& /*error*/) { return true; }
  bool on_number_part(Text /*part*/, Error& /*error*/) { return true; }
  bool on_int64(std::int64_t /*number*/, Text /*part*/, Error& /*error*/) { return true; }
  bool on_uint64(std::uint64_t /*number*/, Text /*part*/, Error& /*error*/) { return true; }
  bool on_double(double /*number*/, Text /*part*/, Error& /*error*/) { return true; }
  bool on_bool(bool /*value*/, Error& /*error*/) { return true; }
  bool on_null(Error& /*error*/) { return true; }
  bool on_comment_part(Text /*part*/, Error& /*error*/) { return true; }
  bool on_comment(Text /*part*/, Error& /*error*/) { return true; }
  // NOLINTEND(readability-convert-member-functions-to-static)
};

}  // namespace

std::optional<std::string> find_repeated_key(std::string_view text) {
  json::basic_parser<KeyWatcher> parser{json::parse_options{}};
  boost::system::error_code ignored;  // the code that reads the document reports its errors
  parser.write_some(false, text.data(), text.size(), ignored);
  return parser.handler().repeated;
}

namespace {

// The parser's limit of the depth bounds the recursion.
// NOLINTNEXTLINE(misc-no-recursion)
bool is_finite(const json::value& value) {
  if (const json::object* const object = value.if_object()) {
    return std::ranges::all_of(*object, [](const auto& member) { return is_finite(member.value()); });
  }
  if (const json::array* const array = value.if_array()) {
    return std::ranges::all_of(*array, [](const json::value& item) { return is_finite(item); });
  }
  return !value.is_double() || std::isfinite(value.get_double());
}

}  // namespace

std::optional<json::object> parse_object(std::string_view text, const json::parse_options& options) {
  boost::system::error_code error;
  json::value value = json::parse(text, error, {}, options);
  const bool is_one = !error && value.is_object() && is_finite(value);
  return is_one ? std::optional(std::move(value.get_object())) : std::nullopt;
}

std::string_view text_of(const json::value* value) {
  const json::string* const text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

std::string_view text_of(const json::object& object, std::string_view key) {
  return text_of(object.if_contains(key));
}

std::size_t count_keys(std::string_view text) {
  std::size_t keys = 0;
  bool is_in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') {
      is_in_string = !is_in_string;
    } else if (is_in_string) {
      at += text[at] == '\\' ? 1 : 0;
    } else if (text[at] == ':') {
      ++keys;
    }
  }
  return keys;
}

}  // namespace muster
