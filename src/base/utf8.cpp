// Which bytes are a character: the table of well-formed sequences, and nothing that knows what they mean.
#include "base/utf8.hpp"

#include <array>
#include <cstdint>

namespace muster {
namespace {

/// How long the UTF-8 sequence is that begins with `first`, and which second bytes it allows: the
/// table of well-formed sequences in the Unicode standard (table 3-7). Length 0: none begins so.
struct Utf8Form {
  std::size_t length = 0;
  std::uint8_t least_second = 0x80;
  std::uint8_t most_second = 0xBF;
};

Utf8Form utf8_form(std::uint8_t first) {
  if (first < 0x80) {
    return {.length = 1};
  }
  if (first < 0xC2 || first > 0xF4) {
    return {};
  }
  if (first < 0xE0) {
    return {.length = 2};
  }
  if (first < 0xF0) {  // no second form of a shorter sequence, and no surrogates
    return {.length = 3,
            .least_second = static_cast<std::uint8_t>(first == 0xE0 ? 0xA0 : 0x80),
            .most_second = static_cast<std::uint8_t>(first == 0xED ? 0x9F : 0xBF)};
  }
  return {.length = 4,
          .least_second = static_cast<std::uint8_t>(first == 0xF0 ? 0x90 : 0x80),
          .most_second = static_cast<std::uint8_t>(first == 0xF4 ? 0x8F : 0xBF)};
}

}  // namespace

std::size_t utf8_sequence(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const Utf8Form form = utf8_form(byte(0));
  if (form.length == 0 || bytes.size() < form.length) {
    return 0;
  }
  for (std::size_t i = 1; i < form.length; ++i) {
    const std::uint8_t least = i == 1 ? form.least_second : 0x80;
    const std::uint8_t most = i == 1 ? form.most_second : 0xBF;
    if (byte(i) < least || byte(i) > most) {
      return 0;
    }
  }
  return form.length;
}

char32_t utf8_character(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(sequence[i]); };
  constexpr std::array<std::uint8_t, 5> kBitsOfFirst{0, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t character = byte(0) & kBitsOfFirst.at(sequence.size());
  for (std::size_t i = 1; i < sequence.size(); ++i) {
    character = (character << 6U) | (byte(i) & 0x3FU);
  }
  return character;
}

}  // namespace muster
