#pragma once

// Text of others, such as a worker's last words, a host's name or a variable's value, made fit to be shown: a
// terminal does nothing on its account but to show it.

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

/// How many columns of a terminal a character takes, which is given as its bytes in UTF-8: 0 where it cannot be seen or is
/// drawn over the one before it, 2 where it is wide, else 1. Terminals may differ about characters that are new or rare.
[[nodiscard]] int display_width(std::string_view character);

/// How many columns a text takes, of which no line is broken. Bytes that are no UTF-8 take one each.
[[nodiscard]] std::size_t columns_of_text(std::string_view text);

/// A space of whatever width.
[[nodiscard]] bool is_blank(std::string_view character);

/// With an escape in place of each character that a terminal acts upon or does not show (\x1b, \u202e), and of each
/// byte that is not UTF-8 (\xff). Line ends and tabs stay. A backslash stays what it is: this is for people, who
/// read paths, not for a program that reads it back; so what was made visible once stays as it is.
[[nodiscard]] std::string escape_controls(std::string_view bytes);

/// A line of a worker, for a terminal that it shares with others: colours and erasing up to the end of the line pass, and
/// line ends, tabs and returns. Erasing the whole line is erasing up to its end: what it begins with is not the worker's. Whatever else would move the cursor or change the terminal is an escape. Bytes that
/// are not UTF-8 pass, unless a terminal may take them for a control.
[[nodiscard]] std::string sanitize(std::string_view line);

/// A document of JSON with such characters as JSON writes them: it means what it meant. (In YAML with its texts in
/// double quotes, `visible` does that.)
[[nodiscard]] std::string visible_json(std::string_view document);

/// With a blank of ASCII for each other blank of Unicode, such as the no-break spaces that copied web pages have.
[[nodiscard]] std::string with_plain_blanks(std::string_view text);

/// With these blanks escaped, \u00a0: in an error about a value they look like nothing at all.
[[nodiscard]] std::string with_visible_blanks(std::string_view text);

/// `visible` on one line: line ends and tabs are \n and \t.
[[nodiscard]] std::string visible_line(std::string_view bytes);

}  // namespace muster
