#pragma once

#include <string>
#include <string_view>

// Text of others, such as a worker's last words, a host's name or a variable's value, made fit to be shown: a
// terminal does nothing on its account but to show it.

namespace muster {

/// With an escape in place of each character that a terminal acts upon or does not show (\x1b, \u202e), and of each
/// byte that is not UTF-8 (\xff). Line ends and tabs stay. A backslash stays what it is: this is for people, who
/// read paths, not for a program that reads it back; so what was made visible once stays as it is.
[[nodiscard]] std::string visible(std::string_view bytes);

/// The same on one line: line ends and tabs are \n and \t.
[[nodiscard]] std::string visible_line(std::string_view bytes);

}  // namespace muster
