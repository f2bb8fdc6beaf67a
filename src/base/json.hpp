#pragma once

// Wraps Boost.JSON: everything else includes this header instead.

#include <boost/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

namespace json = boost::json;

/// The document indented by two blanks with a final line end, for people and `diff`.
[[nodiscard]] std::string pretty_json(const json::value& document);

/// The first key that occurs twice in one object, up to the first error in the text; empty: none does.
[[nodiscard]] std::optional<std::string> find_repeated_key(std::string_view text);

/// ", and JSON has no comments" for a mistake that people make in JSON: comments, a trailing comma, single quotes,
/// True, blanks other than ASCII's. Empty for other mistakes, and for valid JSON.
[[nodiscard]] std::string describe_json_mistake(std::string_view given);

/// Number of keys in a JSON text, counting repeated ones.
[[nodiscard]] std::size_t count_keys(std::string_view text);

/// Makes each text in the document valid UTF-8, as JSON requires: variables, paths and arguments are any bytes.
void make_valid_utf8(json::value& document);

}  // namespace muster
