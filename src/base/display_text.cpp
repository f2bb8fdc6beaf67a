// Computes the width of characters and escapes those that a terminal must not be given as they are. Pure.
// Widths follow Unicode 14: general categories Mn and Me and the parts of Hangul syllables take no column, East
// Asian Width W and F take two. Newer characters take one.
#include "base/display_text.hpp"

#include "base/format_text.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace muster {
namespace {

struct Range {
  char32_t first = 0;
  char32_t last = 0;
};

constexpr std::array<Range, 305> kCombining{{
    {0x0300, 0x036F},   {0x0483, 0x0489},   {0x0591, 0x05BD},   {0x05BF, 0x05BF},   {0x05C1, 0x05C2},
    {0x05C4, 0x05C5},   {0x05C7, 0x05C7},   {0x0610, 0x061A},   {0x064B, 0x065F},   {0x0670, 0x0670},
    {0x06D6, 0x06DC},   {0x06DF, 0x06E4},   {0x06E7, 0x06E8},   {0x06EA, 0x06ED},   {0x0711, 0x0711},
    {0x0730, 0x074A},   {0x07A6, 0x07B0},   {0x07EB, 0x07F3},   {0x07FD, 0x07FD},   {0x0816, 0x0819},
    {0x081B, 0x0823},   {0x0825, 0x0827},   {0x0829, 0x082D},   {0x0859, 0x085B},   {0x0898, 0x089F},
    {0x08CA, 0x08E1},   {0x08E3, 0x0902},   {0x093A, 0x093A},   {0x093C, 0x093C},   {0x0941, 0x0948},
    {0x094D, 0x094D},   {0x0951, 0x0957},   {0x0962, 0x0963},   {0x0981, 0x0981},   {0x09BC, 0x09BC},
    {0x09C1, 0x09C4},   {0x09CD, 0x09CD},   {0x09E2, 0x09E3},   {0x09FE, 0x0A02},   {0x0A3C, 0x0A3C},
    {0x0A41, 0x0A51},   {0x0A70, 0x0A71},   {0x0A75, 0x0A75},   {0x0A81, 0x0A82},   {0x0ABC, 0x0ABC},
    {0x0AC1, 0x0AC8},   {0x0ACD, 0x0ACD},   {0x0AE2, 0x0AE3},   {0x0AFA, 0x0B01},   {0x0B3C, 0x0B3C},
    {0x0B3F, 0x0B3F},   {0x0B41, 0x0B44},   {0x0B4D, 0x0B56},   {0x0B62, 0x0B63},   {0x0B82, 0x0B82},
    {0x0BC0, 0x0BC0},   {0x0BCD, 0x0BCD},   {0x0C00, 0x0C00},   {0x0C04, 0x0C04},   {0x0C3C, 0x0C3C},
    {0x0C3E, 0x0C40},   {0x0C46, 0x0C56},   {0x0C62, 0x0C63},   {0x0C81, 0x0C81},   {0x0CBC, 0x0CBC},
    {0x0CBF, 0x0CBF},   {0x0CC6, 0x0CC6},   {0x0CCC, 0x0CCD},   {0x0CE2, 0x0CE3},   {0x0D00, 0x0D01},
    {0x0D3B, 0x0D3C},   {0x0D41, 0x0D44},   {0x0D4D, 0x0D4D},   {0x0D62, 0x0D63},   {0x0D81, 0x0D81},
    {0x0DCA, 0x0DCA},   {0x0DD2, 0x0DD6},   {0x0E31, 0x0E31},   {0x0E34, 0x0E3A},   {0x0E47, 0x0E4E},
    {0x0EB1, 0x0EB1},   {0x0EB4, 0x0EBC},   {0x0EC8, 0x0ECD},   {0x0F18, 0x0F19},   {0x0F35, 0x0F35},
    {0x0F37, 0x0F37},   {0x0F39, 0x0F39},   {0x0F71, 0x0F7E},   {0x0F80, 0x0F84},   {0x0F86, 0x0F87},
    {0x0F8D, 0x0FBC},   {0x0FC6, 0x0FC6},   {0x102D, 0x1030},   {0x1032, 0x1037},   {0x1039, 0x103A},
    {0x103D, 0x103E},   {0x1058, 0x1059},   {0x105E, 0x1060},   {0x1071, 0x1074},   {0x1082, 0x1082},
    {0x1085, 0x1086},   {0x108D, 0x108D},   {0x109D, 0x109D},   {0x1160, 0x11FF},   {0x135D, 0x135F},
    {0x1712, 0x1714},   {0x1732, 0x1733},   {0x1752, 0x1753},   {0x1772, 0x1773},   {0x17B4, 0x17B5},
    {0x17B7, 0x17BD},   {0x17C6, 0x17C6},   {0x17C9, 0x17D3},   {0x17DD, 0x17DD},   {0x180B, 0x180D},
    {0x180F, 0x180F},   {0x1885, 0x1886},   {0x18A9, 0x18A9},   {0x1920, 0x1922},   {0x1927, 0x1928},
    {0x1932, 0x1932},   {0x1939, 0x193B},   {0x1A17, 0x1A18},   {0x1A1B, 0x1A1B},   {0x1A56, 0x1A56},
    {0x1A58, 0x1A60},   {0x1A62, 0x1A62},   {0x1A65, 0x1A6C},   {0x1A73, 0x1A7F},   {0x1AB0, 0x1B03},
    {0x1B34, 0x1B34},   {0x1B36, 0x1B3A},   {0x1B3C, 0x1B3C},   {0x1B42, 0x1B42},   {0x1B6B, 0x1B73},
    {0x1B80, 0x1B81},   {0x1BA2, 0x1BA5},   {0x1BA8, 0x1BA9},   {0x1BAB, 0x1BAD},   {0x1BE6, 0x1BE6},
    {0x1BE8, 0x1BE9},   {0x1BED, 0x1BED},   {0x1BEF, 0x1BF1},   {0x1C2C, 0x1C33},   {0x1C36, 0x1C37},
    {0x1CD0, 0x1CD2},   {0x1CD4, 0x1CE0},   {0x1CE2, 0x1CE8},   {0x1CED, 0x1CED},   {0x1CF4, 0x1CF4},
    {0x1CF8, 0x1CF9},   {0x1DC0, 0x1DFF},   {0x20D0, 0x20F0},   {0x2CEF, 0x2CF1},   {0x2D7F, 0x2D7F},
    {0x2DE0, 0x2DFF},   {0x302A, 0x302D},   {0x3099, 0x309A},   {0xA66F, 0xA672},   {0xA674, 0xA67D},
    {0xA69E, 0xA69F},   {0xA6F0, 0xA6F1},   {0xA802, 0xA802},   {0xA806, 0xA806},   {0xA80B, 0xA80B},
    {0xA825, 0xA826},   {0xA82C, 0xA82C},   {0xA8C4, 0xA8C5},   {0xA8E0, 0xA8F1},   {0xA8FF, 0xA8FF},
    {0xA926, 0xA92D},   {0xA947, 0xA951},   {0xA980, 0xA982},   {0xA9B3, 0xA9B3},   {0xA9B6, 0xA9B9},
    {0xA9BC, 0xA9BD},   {0xA9E5, 0xA9E5},   {0xAA29, 0xAA2E},   {0xAA31, 0xAA32},   {0xAA35, 0xAA36},
    {0xAA43, 0xAA43},   {0xAA4C, 0xAA4C},   {0xAA7C, 0xAA7C},   {0xAAB0, 0xAAB0},   {0xAAB2, 0xAAB4},
    {0xAAB7, 0xAAB8},   {0xAABE, 0xAABF},   {0xAAC1, 0xAAC1},   {0xAAEC, 0xAAED},   {0xAAF6, 0xAAF6},
    {0xABE5, 0xABE5},   {0xABE8, 0xABE8},   {0xABED, 0xABED},   {0xFB1E, 0xFB1E},   {0xFE00, 0xFE0F},
    {0xFE20, 0xFE2F},   {0x101FD, 0x101FD}, {0x102E0, 0x102E0}, {0x10376, 0x1037A}, {0x10A01, 0x10A0F},
    {0x10A38, 0x10A3F}, {0x10AE5, 0x10AE6}, {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC}, {0x10F46, 0x10F50},
    {0x10F82, 0x10F85}, {0x11001, 0x11001}, {0x11038, 0x11046}, {0x11070, 0x11070}, {0x11073, 0x11074},
    {0x1107F, 0x11081}, {0x110B3, 0x110B6}, {0x110B9, 0x110BA}, {0x110C2, 0x110C2}, {0x11100, 0x11102},
    {0x11127, 0x1112B}, {0x1112D, 0x11134}, {0x11173, 0x11173}, {0x11180, 0x11181}, {0x111B6, 0x111BE},
    {0x111C9, 0x111CC}, {0x111CF, 0x111CF}, {0x1122F, 0x11231}, {0x11234, 0x11234}, {0x11236, 0x11237},
    {0x1123E, 0x1123E}, {0x112DF, 0x112DF}, {0x112E3, 0x112EA}, {0x11300, 0x11301}, {0x1133B, 0x1133C},
    {0x11340, 0x11340}, {0x11366, 0x11374}, {0x11438, 0x1143F}, {0x11442, 0x11444}, {0x11446, 0x11446},
    {0x1145E, 0x1145E}, {0x114B3, 0x114B8}, {0x114BA, 0x114BA}, {0x114BF, 0x114C0}, {0x114C2, 0x114C3},
    {0x115B2, 0x115B5}, {0x115BC, 0x115BD}, {0x115BF, 0x115C0}, {0x115DC, 0x115DD}, {0x11633, 0x1163A},
    {0x1163D, 0x1163D}, {0x1163F, 0x11640}, {0x116AB, 0x116AB}, {0x116AD, 0x116AD}, {0x116B0, 0x116B5},
    {0x116B7, 0x116B7}, {0x1171D, 0x1171F}, {0x11722, 0x11725}, {0x11727, 0x1172B}, {0x1182F, 0x11837},
    {0x11839, 0x1183A}, {0x1193B, 0x1193C}, {0x1193E, 0x1193E}, {0x11943, 0x11943}, {0x119D4, 0x119DB},
    {0x119E0, 0x119E0}, {0x11A01, 0x11A0A}, {0x11A33, 0x11A38}, {0x11A3B, 0x11A3E}, {0x11A47, 0x11A47},
    {0x11A51, 0x11A56}, {0x11A59, 0x11A5B}, {0x11A8A, 0x11A96}, {0x11A98, 0x11A99}, {0x11C30, 0x11C3D},
    {0x11C3F, 0x11C3F}, {0x11C92, 0x11CA7}, {0x11CAA, 0x11CB0}, {0x11CB2, 0x11CB3}, {0x11CB5, 0x11CB6},
    {0x11D31, 0x11D45}, {0x11D47, 0x11D47}, {0x11D90, 0x11D91}, {0x11D95, 0x11D95}, {0x11D97, 0x11D97},
    {0x11EF3, 0x11EF4}, {0x16AF0, 0x16AF4}, {0x16B30, 0x16B36}, {0x16F4F, 0x16F4F}, {0x16F8F, 0x16F92},
    {0x16FE4, 0x16FE4}, {0x1BC9D, 0x1BC9E}, {0x1CF00, 0x1CF46}, {0x1D167, 0x1D169}, {0x1D17B, 0x1D182},
    {0x1D185, 0x1D18B}, {0x1D1AA, 0x1D1AD}, {0x1D242, 0x1D244}, {0x1DA00, 0x1DA36}, {0x1DA3B, 0x1DA6C},
    {0x1DA75, 0x1DA75}, {0x1DA84, 0x1DA84}, {0x1DA9B, 0x1DAAF}, {0x1E000, 0x1E02A}, {0x1E130, 0x1E136},
    {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E8D0, 0x1E8D6}, {0x1E944, 0x1E94A}, {0xE0100, 0xE01EF},
}};

constexpr std::array<Range, 84> kWide{{
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},   {0x23F0, 0x23F0},
    {0x23F3, 0x23F3},   {0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267F, 0x267F},
    {0x2693, 0x2693},   {0x26A1, 0x26A1},   {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},
    {0x26CE, 0x26CE},   {0x26D4, 0x26D4},   {0x26EA, 0x26EA},   {0x26F2, 0x26F3},   {0x26F5, 0x26F5},
    {0x26FA, 0x26FA},   {0x26FD, 0x26FD},   {0x2705, 0x2705},   {0x270A, 0x270B},   {0x2728, 0x2728},
    {0x274C, 0x274C},   {0x274E, 0x274E},   {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},
    {0x27B0, 0x27B0},   {0x27BF, 0x27BF},   {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2B55, 0x2B55},
    {0x2E80, 0x3029},   {0x302E, 0x303E},   {0x3041, 0x3096},   {0x309B, 0x3247},   {0x3250, 0x4DBF},
    {0x4E00, 0xA4C6},   {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAD9},   {0xFE10, 0xFE19},
    {0xFE30, 0xFE6B},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x16FE3}, {0x16FF0, 0x1B2FB},
    {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A}, {0x1F200, 0x1F320},
    {0x1F32D, 0x1F335}, {0x1F337, 0x1F37C}, {0x1F37E, 0x1F393}, {0x1F3A0, 0x1F3CA}, {0x1F3CF, 0x1F3D3},
    {0x1F3E0, 0x1F3F0}, {0x1F3F4, 0x1F3F4}, {0x1F3F8, 0x1F43E}, {0x1F440, 0x1F440}, {0x1F442, 0x1F4FC},
    {0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F54E}, {0x1F550, 0x1F567}, {0x1F57A, 0x1F57A}, {0x1F595, 0x1F596},
    {0x1F5A4, 0x1F5A4}, {0x1F5FB, 0x1F64F}, {0x1F680, 0x1F6C5}, {0x1F6CC, 0x1F6CC}, {0x1F6D0, 0x1F6D2},
    {0x1F6D5, 0x1F6DF}, {0x1F6EB, 0x1F6EC}, {0x1F6F4, 0x1F6FC}, {0x1F7E0, 0x1F7F0}, {0x1F90C, 0x1F93A},
    {0x1F93C, 0x1F945}, {0x1F947, 0x1F9FF}, {0x1FA70, 0x1FAF6}, {0x20000, 0x3134A},
}};

/// Unicode's category Space_Separator.
constexpr std::array<Range, 7> kBlank{{{0x0020, 0x0020},
                                       {0x00A0, 0x00A0},
                                       {0x1680, 0x1680},
                                       {0x2000, 0x200A},
                                       {0x202F, 0x202F},
                                       {0x205F, 0x205F},
                                       {0x3000, 0x3000}}};

/// `ranges` are sorted.
template <typename Ranges>
bool is_among(const Ranges& ranges, char32_t character) {
  const auto* const at = std::lower_bound(ranges.begin(), ranges.end(), character,
                                          [](const Range& range, char32_t wanted) { return range.last < wanted; });
  return at != ranges.end() && at->first <= character;
}

}  // namespace

int display_width(std::string_view character) {
  if (utf8_sequence(character) != character.size()) {
    return 1;  // the terminal draws a replacement character
  }
  const char32_t number = utf8_character(character);
  if (escape_controls(character) != character || is_among(kCombining, number)) {
    return 0;
  }
  return is_among(kWide, number) ? 2 : 1;
}

std::size_t columns_of_text(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, utf8_sequence(text));
    columns += static_cast<std::size_t>(display_width(text.substr(0, length)));
    text.remove_prefix(length);
  }
  return columns;
}

bool is_blank(std::string_view character) {
  return utf8_sequence(character) == character.size() && is_among(kBlank, utf8_character(character));
}

// Escapes of characters that a terminal acts upon or does not show.

namespace {

/// Characters that move the cursor, change the direction of the following text, or are invisible: the controls of
/// ASCII and Latin 1, line and paragraph separators, interlinear annotations, and the Default_Ignorable_Code_Point
/// characters of Unicode 15.1, among them bidirectional controls, joiners and tags. Variation selectors are left out:
/// they only choose the look of the character before them.
constexpr std::array<Range, 19> kHidden{{
    {0x0000, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},   {0x034F, 0x034F},   {0x061C, 0x061C},
    {0x115F, 0x1160},   {0x17B4, 0x17B5},   {0x180E, 0x180E},   {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x206F},   {0x3164, 0x3164},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},
    {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE00FF}, {0xE01F0, 0xE0FFF},
}};

/// Python's notation: \x1b, \u202e, \U000e0001.
std::string escape(char32_t character) {
  constexpr char32_t kOneByte = 0x7F;  // larger numbers take \u: \x85 means a byte that is not UTF-8
  constexpr char32_t kFourDigits = 0xFFFF;
  const char* const form = character <= kOneByte ? "\\x%02x" : character <= kFourDigits ? "\\u%04x" : "\\U%08x";
  return format_text(form, static_cast<unsigned>(character));
}

std::string escape_byte(char byte) {
  return format_text("\\x%02x", static_cast<std::uint8_t>(byte));
}

/// JSON's notation, in UTF-16 units.
std::string escape_for_json(char32_t character) {
  constexpr char32_t kFirstOfTwo = 0x10000;
  constexpr unsigned kBits = 10;
  if (character < kFirstOfTwo) {
    return format_text("\\u%04x", static_cast<unsigned>(character));
  }
  const auto offset = static_cast<unsigned>(character - kFirstOfTwo);
  const unsigned high = 0xD800U + (offset >> kBits);
  const unsigned low = 0xDC00U + (offset & ((1U << kBits) - 1U));
  return format_text("\\u%04x\\u%04x", high, low);
}

/// The text that replaces a hidden character, and the one that replaces a byte that is not UTF-8.
struct Escapes {
  std::string (*of_character)(char32_t);
  std::string (*of_byte)(char);
};

/// Replaces hidden characters, but not those in `kept`.
std::string show(std::string_view bytes, std::string_view kept, const Escapes& escapes) {
  const auto is_kept = [kept](char c) { return (c >= ' ' && c <= '~') || kept.find(c) != std::string_view::npos; };
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto* const end = std::ranges::find_if_not(bytes, is_kept);
    text.append(bytes.begin(), end);
    bytes.remove_prefix(static_cast<std::size_t>(end - bytes.begin()));
    const std::size_t length = bytes.empty() ? 0 : utf8_sequence(bytes);
    const std::string_view sequence = bytes.substr(0, length);
    if (length > 0) {
      const char32_t character = utf8_character(sequence);
      text += is_among(kHidden, character) ? escapes.of_character(character) : std::string(sequence);
    } else if (!bytes.empty()) {
      text += escapes.of_byte(bytes.front());
    }
    bytes.remove_prefix(std::min(bytes.size(), std::max<std::size_t>(length, 1)));
  }
  return text;
}

/// Length of the escape sequence at the start of `bytes` if it sets colours or erases to the end of the line, else 0.
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

std::string replace_other_blanks(std::string_view text, std::string (*replacement)(char32_t)) {
  std::string replaced;
  replaced.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_sequence(text), 1);
    const std::string_view sequence = text.substr(0, length);
    const bool is_blank = length > 1 && is_among(kBlank, utf8_character(sequence));
    replaced += is_blank ? replacement(utf8_character(sequence)) : std::string(sequence);
    text.remove_prefix(length);
  }
  return replaced;
}

/// Makes one character safe for a terminal; `length` is its size in bytes, 0 for a byte that is not UTF-8.
std::string sanitize_character(std::string_view bytes, std::size_t length) {
  if (length == 0) {
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    return byte <= 0x9F ? escape_byte(bytes.front()) : std::string(1, bytes.front());
  }
  const std::string_view sequence = bytes.substr(0, length);
  const char32_t character = utf8_character(sequence);
  const bool is_kept = character == '\n' || character == '\t' || character == '\r';
  const bool is_control = !is_kept && (character < ' ' || (character >= 0x7F && character <= 0x9F));
  return is_control ? escape(character) : std::string(sequence);
}

}  // namespace

std::string sanitize(std::string_view line) {
  constexpr std::string_view kEraseLine = "\x1b[2K";
  const auto is_plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t' || c == '\r'; };
  std::string text;
  text.reserve(line.size());
  while (!line.empty()) {
    const std::size_t plain = static_cast<std::size_t>(std::ranges::find_if_not(line, is_plain) - line.begin());
    const std::size_t passing = plain > 0 ? plain : length_of_colour(line);
    if (passing > 0) {
      text += line.substr(0, passing);
      line.remove_prefix(passing);
      continue;
    }
    if (line.starts_with(kEraseLine)) {  // erase only to the end of the line, so that the prefix stays
      text += "\x1b[K";
      line.remove_prefix(kEraseLine.size());
      continue;
    }
    const std::size_t length = utf8_sequence(line);
    text += sanitize_character(line, length);
    line.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

std::string with_plain_blanks(std::string_view text) {
  const bool is_ascii = std::ranges::all_of(text, [](char c) { return (static_cast<unsigned char>(c) & 0x80U) == 0; });
  return is_ascii ? std::string(text) : replace_other_blanks(text, [](char32_t) { return std::string(" "); });
}

namespace {

/// A character and the one of ASCII that it looks like; NUL: it has no width.
struct Twin {
  char32_t character = 0;
  char ascii = '\0';
};

constexpr auto kTwins = std::to_array<Twin>({
    {0x2010, '-'}, {0x2011, '-'},  {0x2012, '-'},  {0x2013, '-'},  {0x2014, '-'}, {0x2015, '-'}, {0x2212, '-'},
    {0xFE63, '-'}, {0x2018, '\''}, {0x2019, '\''}, {0x201B, '\''}, {0x201C, '"'}, {0x201D, '"'}, {0x201F, '"'},
    {0x0430, 'a'}, {0x0435, 'e'},  {0x043E, 'o'},  {0x0440, 'p'},  {0x0441, 'c'}, {0x0443, 'y'}, {0x0445, 'x'},
    {0x0455, 's'}, {0x0456, 'i'},  {0x0458, 'j'},  {0x04BB, 'h'},  {0x0501, 'd'}, {0x0405, 'S'}, {0x0406, 'I'},
    {0x0408, 'J'}, {0x0410, 'A'},  {0x0412, 'B'},  {0x0415, 'E'},  {0x041A, 'K'}, {0x041C, 'M'}, {0x041D, 'H'},
    {0x041E, 'O'}, {0x0420, 'P'},  {0x0421, 'C'},  {0x0422, 'T'},  {0x0425, 'X'}, {0x03BD, 'v'}, {0x03BF, 'o'},
    {0x0391, 'A'}, {0x0392, 'B'},  {0x0395, 'E'},  {0x0396, 'Z'},  {0x0397, 'H'}, {0x0399, 'I'}, {0x039A, 'K'},
    {0x039C, 'M'}, {0x039D, 'N'},  {0x039F, 'O'},  {0x03A1, 'P'},  {0x03A4, 'T'}, {0x03A5, 'Y'}, {0x03A7, 'X'},
    {0x200B, 0},   {0x200C, 0},    {0x200D, 0},    {0x200E, 0},    {0x200F, 0},   {0x2060, 0},   {0xFEFF, 0},
});

/// The twin of a character; empty if it has none.
std::optional<char> find_twin(char32_t character) {
  constexpr Range kFullWidth{0xFF01, 0xFF5E};  // of "!" to "~"
  if (character >= kFullWidth.first && character <= kFullWidth.last) {
    return static_cast<char>(character - kFullWidth.first + '!');
  }
  const auto* const twin = std::ranges::find(kTwins, character, &Twin::character);
  return twin == kTwins.end() ? std::nullopt : std::optional(twin->ascii);
}

/// A text in which twins are replaced, and what was replaced first.
struct Replaced {
  std::string text;
  std::string_view first;  ///< first character with a width that was replaced
  bool is_ascii = true;    ///< nothing beyond ASCII is left
};

Replaced replace_twins(std::string_view text) {
  Replaced replaced;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_sequence(text), 1);
    const std::string_view sequence = text.substr(0, length);
    const auto twin = length > 1 ? find_twin(utf8_character(sequence)) : std::nullopt;
    const bool is_ascii = (static_cast<unsigned char>(sequence.front()) & 0x80U) == 0;
    replaced.is_ascii = replaced.is_ascii && (is_ascii || twin);
    const bool is_visible = twin && *twin != '\0';
    replaced.first = is_visible && replaced.first.empty() ? sequence : replaced.first;
    replaced.text += !twin ? std::string(sequence) : *twin == '\0' ? "" : std::string(1, *twin);
    text.remove_prefix(length);
  }
  return replaced;
}

bool is_quoted(std::string_view text) {
  return text.size() > 1 && text.front() == text.back() && (text.front() == '"' || text.front() == '\'');
}

}  // namespace

std::string with_ascii_twins(std::string_view text) {
  return replace_twins(text).text;
}

std::string describe_lookalike(std::string_view text, bool is_typed) {
  if (is_quoted(text)) {
    return std::string("; its quotes belong to the value: ") +
           (is_typed ? "no shell has removed them" : "docker's --env-file keeps them");
  }
  const Replaced replaced = replace_twins(text);
  if (!replaced.is_ascii || replaced.first.empty()) {
    return {};
  }
  const char32_t character = utf8_character(replaced.first);
  return "; its '" + std::string(replaced.first) + "' is " + format_text("U+%04X", static_cast<unsigned>(character)) +
         ", which only looks like '" + *find_twin(character) + "'";
}

std::string describe_unfilled(std::string_view text) {
  if (text.find_first_of("$`") != std::string_view::npos) {
    return ", and no shell has expanded this";
  }
  const bool is_placeholder = text.find_first_of("<>{}") != std::string_view::npos || text.starts_with('%');
  return is_placeholder ? ", not a placeholder" : "";
}

std::string describe_wholly_unfilled(std::string_view text) {
  constexpr std::string_view kNameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_- ";
  const std::size_t first = text.find_first_not_of("$`(<{% ");
  const std::size_t end = text.find_last_not_of("`)>}% ") + 1;  // 0: there is no other character
  const bool is_one_name = first != std::string_view::npos && first > 0 && first < end &&
                           text.substr(first, end - first).find_first_not_of(kNameLetters) == std::string_view::npos;
  return is_one_name ? describe_unfilled(text) : "";
}

bool is_spelled_like_variable(std::string_view text) {
  return text.find('_') != std::string_view::npos &&
         text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos;
}

std::string with_visible_blanks(std::string_view text) {
  return replace_other_blanks(text, escape);
}

std::string escape_controls(std::string_view bytes) {
  return show(bytes, "\n\t", {escape, escape_byte});
}

std::string visible_json(std::string_view document) {
  return show(document, "\n\t", {escape_for_json, [](char) { return std::string("\xEF\xBF\xBD"); }});
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
