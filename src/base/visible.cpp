// What a terminal must not be given as it is. Pure.
#include "base/utf8.hpp"

#include "base/visible.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace muster {
namespace {

struct Range {
  char32_t first = 0;
  char32_t last = 0;
};

/// Characters that move the cursor, turn the direction of what follows, or cannot be seen: the controls of ASCII and
/// of Latin 1, the separators of lines and paragraphs, those of interlinear notes, and what Unicode 15.1 calls
/// Default_Ignorable_Code_Point, where bidirectional controls, joiners and tags are. Without variation selectors: they
/// choose how the character before them looks, no more.
constexpr std::array<Range, 19> kHidden{{
    {0x0000, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},   {0x034F, 0x034F},
    {0x061C, 0x061C},   {0x115F, 0x1160},   {0x17B4, 0x17B5},   {0x180E, 0x180E},
    {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},   {0x3164, 0x3164},
    {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},   {0x1BCA0, 0x1BCA3},
    {0x1D173, 0x1D17A}, {0xE0000, 0xE00FF}, {0xE01F0, 0xE0FFF},
}};

bool is_hidden(char32_t character) {
  return std::any_of(kHidden.begin(), kHidden.end(), [character](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

/// As Python writes them: \x1b, \u202e, \U000e0001.
std::string escape(char32_t character) {
  constexpr char32_t kOneByte =
      0x7F;  // what follows is two bytes: \x85 is a byte that is not UTF-8
  constexpr char32_t kFourDigits = 0xFFFF;
  const char* const form = character <= kOneByte      ? "\\x%02x"
                           : character <= kFourDigits ? "\\u%04x"
                                                      : "\\U%08x";
  std::array<char, 16> text{};
  (void)std::snprintf(text.data(), text.size(), form, static_cast<unsigned>(character));
  return text.data();
}

std::string escape_byte(char byte) {
  std::array<char, 8> text{};
  (void)std::snprintf(text.data(), text.size(), "\\x%02x", static_cast<std::uint8_t>(byte));
  return text.data();
}

/// As JSON writes them: in units of UTF-16.
std::string escape_for_json(char32_t character) {
  constexpr char32_t kFirstOfTwo = 0x10000;
  constexpr unsigned kBits = 10;
  const auto offset = static_cast<unsigned>(character - kFirstOfTwo);
  std::array<char, 16> text{};
  if (character < kFirstOfTwo) {
    (void)std::snprintf(text.data(), text.size(), "\\u%04x", static_cast<unsigned>(character));
  } else {
    const unsigned high = 0xD800U + (offset >> kBits);
    const unsigned low = 0xDC00U + (offset & ((1U << kBits) - 1U));
    (void)std::snprintf(text.data(), text.size(), "\\u%04x\\u%04x", high, low);
  }
  return text.data();
}

std::string replace_byte(char /*byte*/) {
  return "\xEF\xBF\xBD";
}

/// What is put in place of what.
struct Escapes {
  std::string (*of_character)(char32_t);
  std::string (*of_byte)(char);  ///< one that is not UTF-8
};

/// `kept`: of those that would be escaped.
std::string show(std::string_view bytes, std::string_view kept, const Escapes& escapes) {
  const auto is_kept = [kept](char c) {
    return (c >= ' ' && c <= '~') || kept.find(c) != std::string_view::npos;
  };
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto* const end = std::find_if_not(bytes.begin(), bytes.end(), is_kept);
    text.append(bytes.begin(), end);
    bytes.remove_prefix(static_cast<std::size_t>(end - bytes.begin()));
    const std::size_t length = bytes.empty() ? 0 : utf8_sequence(bytes);
    const std::string_view sequence = bytes.substr(0, length);
    if (length > 0) {
      const char32_t character = utf8_character(sequence);
      text += is_hidden(character) ? escapes.of_character(character) : std::string(sequence);
    } else if (!bytes.empty()) {
      text += escapes.of_byte(bytes.front());
    }
    bytes.remove_prefix(std::min(bytes.size(), std::max<std::size_t>(length, 1)));
  }
  return text;
}

/// How long the sequence is that `bytes` begin with, if it colours or erases what follows in its line; 0: it does not.
std::size_t length_of_colour(std::string_view bytes) {
  constexpr std::string_view kStart = "\x1b[";
  if (!bytes.starts_with(kStart)) {
    return 0;
  }
  const std::size_t last = bytes.find_first_not_of("0123456789;:", kStart.size());
  if (last == std::string_view::npos) {
    return 0;
  }
  const std::string_view numbers = bytes.substr(kStart.size(), last - kStart.size());
  const bool erases = bytes[last] == 'K' && (numbers.empty() || numbers == "0");
  return erases || bytes[last] == 'm' ? last + 1 : 0;
}

/// True for the characters of Unicode's category Space_Separator, but for the blank of ASCII.
bool is_other_blank(char32_t character) {
  return character == 0x00A0 || character == 0x1680 ||
         (character >= 0x2000 && character <= 0x200A) || character == 0x202F ||
         character == 0x205F || character == 0x3000;
}

std::string replace_other_blanks(std::string_view text, std::string (*replacement)(char32_t)) {
  std::string replaced;
  replaced.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_sequence(text), 1);
    const std::string_view sequence = text.substr(0, length);
    const bool is_blank = length > 1 && is_other_blank(utf8_character(sequence));
    replaced += is_blank ? replacement(utf8_character(sequence)) : std::string(sequence);
    text.remove_prefix(length);
  }
  return replaced;
}

bool is_control_character(char32_t character) {
  const bool is_kept = character == '\n' || character == '\t' || character == '\r';
  return !is_kept && (character < ' ' || (character >= 0x7F && character <= 0x9F));
}

bool is_plain(char c) {
  return (c >= ' ' && c <= '~') || c == '\n' || c == '\t' || c == '\r';
}

/// What one character of a line is shown as; `length`: its bytes, 0 for a byte that is no character.
std::string tame_character(std::string_view bytes, std::size_t length) {
  if (length == 0) {
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    return byte <= 0x9F ? escape_byte(bytes.front()) : std::string(1, bytes.front());
  }
  const std::string_view sequence = bytes.substr(0, length);
  const char32_t character = utf8_character(sequence);
  return is_control_character(character) ? escape(character) : std::string(sequence);
}

}  // namespace

std::string sanitize(std::string_view line) {
  constexpr std::string_view kEraseLine = "\x1b[2K";
  std::string text;
  text.reserve(line.size());
  while (!line.empty()) {
    const std::size_t plain = static_cast<std::size_t>(
        std::find_if_not(line.begin(), line.end(), is_plain) - line.begin());
    const std::size_t passing = plain > 0 ? plain : length_of_colour(line);
    if (passing > 0) {
      text += line.substr(0, passing);
      line.remove_prefix(passing);
      continue;
    }
    if (line.starts_with(kEraseLine)) {  // its prefix stays
      text += "\x1b[K";
      line.remove_prefix(kEraseLine.size());
      continue;
    }
    const std::size_t length = utf8_sequence(line);
    text += tame_character(line, length);
    line.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

std::string with_plain_blanks(std::string_view text) {
  const bool is_ascii = std::all_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0x80U) == 0;
  });
  return is_ascii ? std::string(text)
                  : replace_other_blanks(text, [](char32_t) { return std::string(" "); });
}

std::string with_visible_blanks(std::string_view text) {
  return replace_other_blanks(text, escape);
}

std::string escape_controls(std::string_view bytes) {
  return show(bytes, "\n\t", {escape, escape_byte});
}

std::string visible_json(std::string_view document) {
  return show(document, "\n\t", {escape_for_json, replace_byte});
}

std::string visible_line(std::string_view bytes) {
  std::string line;
  for (const char c : escape_controls(bytes)) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace muster
