#pragma once

// The one door to Boost.JSON: everything else includes this header.

#include <boost/json.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace muster {

namespace json = boost::json;

/// The document with two blanks of indentation and a line end, for people and `diff`.
[[nodiscard]] std::string pretty_json(const json::value& document);

/// The first key that occurs twice in one object, as far as the text is JSON; empty: none does.
[[nodiscard]] std::optional<std::string> find_repeated_key(std::string_view text);

/// Makes each text in the document valid UTF-8, as JSON must be: variables, paths and arguments are
/// any bytes.
void make_valid_utf8(json::value& document);

}  // namespace muster
