#pragma once

// Fills {placeholders} in texts of a template.

#include <map>
#include <string>
#include <string_view>

namespace muster {

/// The text with each "{name}" of `values` replaced; "{{" and "}}" become braces. {worker_port} and
/// {run_dir}, where `values` lacks them, are marked for `fill_late` by a NUL byte in front, which no
/// other text of a template or of a plan can hold. Other names that `values` lacks stay as they are.
[[nodiscard]] std::string fill_placeholders(std::string_view text,
                                            const std::map<std::string, std::string>& values);

/// The same for an argument of the user's, in which all other braces are text: "{name}" is replaced
/// if it is a placeholder, nothing else is touched.
[[nodiscard]] std::string fill_known(std::string_view text,
                                     const std::map<std::string, std::string>& values);

/// What stands in a text for a value that is not known yet.
[[nodiscard]] std::string mark_deferred(std::string_view name);

/// The text with the marks replaced for which there is a value, in one pass: a value that looks like
/// a placeholder is not looked at again. A text that needs a value which is empty becomes empty.
[[nodiscard]] std::string fill_late(std::string_view text,
                                    const std::map<std::string, std::string>& values);

/// A text as people read it: without those marks.
[[nodiscard]] std::string readable(std::string text);

}  // namespace muster
