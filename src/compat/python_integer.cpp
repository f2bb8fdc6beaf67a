// https://docs.python.org/3/library/functions.html#int, of base 10 and the digits of ASCII.
#include "compat/python_integer.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace muster {

std::optional<std::string> find_python_integer(std::string_view text) {
  std::string_view rest = trim(text);
  const bool is_negative = rest.starts_with('-');
  rest.remove_prefix(is_negative || rest.starts_with('+') ? 1 : 0);
  std::string digits;
  bool may_be_underscore = false;  // between digits only
  for (const char c : rest) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c != '_' || !may_be_underscore)) {
      return std::nullopt;
    }
    digits += is_digit ? std::string(1, c) : "";
    may_be_underscore = is_digit;
  }
  if (!may_be_underscore) {
    return std::nullopt;
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return (is_negative && digits != "0" ? "-" : "") + digits;
}

}  // namespace muster
