// Quotes what the user gives, so that it arrives byte for byte. Pure.
#include "render/words.hpp"

#include "base/text.hpp"

#include <array>
#include <cstdint>

namespace muster::render {
namespace {

/// The character at `at`, and the bytes that it takes. The text is valid UTF-8.
std::pair<std::uint32_t, std::size_t> character_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t length = first < 0x80U ? 1 : first < 0xe0U ? 2 : first < 0xf0U ? 3 : 4;
  std::uint32_t code = length == 1 ? first : first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    code = code << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
  }
  return {code, length};
}

/// What some reader of YAML would take for a line end, or refuse: they are written as escapes.
bool is_plain(std::uint32_t code) {
  const bool is_break = code == 0x2028 || code == 0x2029 || code == 0xfeff;
  return (code >= 0x20 && code < 0x7f) || (code >= 0xa0 && !is_break && code < 0xfffe) ||
         code >= 0x10000;
}

std::string escaped(std::uint32_t code) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "\\u";
  for (const unsigned shift : {12U, 8U, 4U, 0U}) {
    text += kDigits[code >> shift & 0xfU];
  }
  return text;
}

}  // namespace

bool is_utf8(std::string_view text) {
  return valid_utf8(text) == text;
}

std::string quoted_text(std::string_view text) {
  std::string result = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, length] = character_at(text, at);
    if (code == '"' || code == '\\') {
      result += '\\';
      result += static_cast<char>(code);
    } else if (code == '\n') {
      result += "\\n";
    } else if (code == '\t') {
      result += "\\t";
    } else if (is_plain(code)) {
      result += text.substr(at, length);
    } else {
      result += escaped(code);
    }
    at += length;
  }
  return result + '"';
}

std::string quoted_argument(std::string_view text) {
  std::string doubled;
  for (const char c : text) {
    doubled.append(c == '$' ? 2 : 1, c);
  }
  return quoted_text(doubled);
}

}  // namespace muster::render
