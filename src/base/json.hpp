#pragma once

// The one door to Boost.JSON: everything else includes this header.

#include <boost/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

namespace json = boost::json;

/// The document with two blanks of indentation and a line end, for people and `diff`.
[[nodiscard]] std::string pretty_json(const json::value& document);

/// The first key that occurs twice in one object, as far as the text is JSON; empty: none does.
[[nodiscard]] std::optional<std::string> find_repeated_key(std::string_view text);

/// ", and JSON has no comments" where people wrote what JSON does not have: comments, a comma behind the last member,
/// single quotes, True, blanks that are not ASCII's. Empty for other mistakes, and for JSON.
[[nodiscard]] std::string describe_json_mistake(std::string_view given);

/// How many keys a text has that is JSON, those that occur twice as well.
[[nodiscard]] std::size_t count_keys(std::string_view text);

/// Makes each text in the document valid UTF-8, as JSON must be: variables, paths and arguments are
/// any bytes.
void make_valid_utf8(json::value& document);

}  // namespace muster
