// What a terminal must not be given as it is. Pure.
#include "utf8.hpp"

#include <muster/base/visible.hpp>

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

/// Of a valid sequence.
char32_t decode(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(sequence[i]); };
  constexpr std::array<std::uint8_t, 5> kBitsOfFirst{0, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t character = byte(0) & kBitsOfFirst.at(sequence.size());
  for (std::size_t i = 1; i < sequence.size(); ++i) {
    character = (character << 6U) | (byte(i) & 0x3FU);
  }
  return character;
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

/// `kept`: of those that would be escaped.
std::string show(std::string_view bytes, std::string_view kept) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = utf8_sequence(bytes);
    if (length == 0) {
      text += escape_byte(bytes.front());
    } else if (kept.find(bytes.front()) != std::string_view::npos ||
               !is_hidden(decode(bytes.substr(0, length)))) {
      text += bytes.substr(0, length);
    } else {
      text += escape(decode(bytes.substr(0, length)));
    }
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

}  // namespace

std::string visible(std::string_view bytes) {
  return show(bytes, "\n\t");
}

std::string visible_line(std::string_view bytes) {
  std::string line;
  for (const char c : visible(bytes)) {
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
