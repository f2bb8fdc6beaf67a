#pragma once

// Values that platforms write as JSON, read strictly. What is wrong is named by its place, such as
// "TF_CONFIG task.index". Private to cluster/.

#include "platforms/platform.hpp"

#include "base/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The text must be JSON; what is `expected` is for people.
[[nodiscard]] Result<json::value> read_json(const Sourced<std::string>& text,
                                            std::string_view expected);

/// The text must be an object, with each key once; what is `expected` is for people.
[[nodiscard]] Result<json::object> read_json_object(const Sourced<std::string>& text,
                                                    std::string_view expected);

/// A member for messages: of JSON as it stands there, of text without quotes.
[[nodiscard]] std::string shown(const json::value* value);

/// "<place> is '<value>', expected <what>"; nothing is shown of what is missing.
[[nodiscard]] Error wrong_member(const Source& place,
                                 const json::value* value,
                                 std::string_view expected);

/// A list of texts, one at least.
[[nodiscard]] Result<std::vector<std::string>> read_json_texts(const Source& place,
                                                               const json::value* value,
                                                               std::string_view expected);

/// A whole number from `least` on, which some platforms quote.
[[nodiscard]] Result<int> read_json_number(const Source& place,
                                           const json::value* value,
                                           int least,
                                           std::string_view expected);

}  // namespace muster
