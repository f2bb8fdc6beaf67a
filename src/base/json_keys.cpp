// Looks for keys that occur twice in an object, of which Boost.JSON would keep the last in silence.
#include "base/json.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <set>
#include <vector>

namespace muster {
namespace {

/// What boost::json::basic_parser tells while it reads; only keys are looked at.
struct KeyWatcher {
  // NOLINTBEGIN(readability-identifier-naming): the parser's names
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
  // NOLINTEND(readability-identifier-naming)

  using Text = json::string_view;
  using Error = boost::system::error_code;

  std::vector<std::set<std::string>> objects;  ///< the keys of those that are open
  std::string key;                             ///< as far as it has been read
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
  boost::system::error_code ignored;  // whoever reads the document says what is wrong with it
  parser.write_some(false, text.data(), text.size(), ignored);
  return parser.handler().repeated;
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
