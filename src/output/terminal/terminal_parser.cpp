// Parses terminal control sequences.
#include "output/terminal/terminal_parser.hpp"

namespace muster {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\a';
constexpr std::string_view kCancels = "\x18\x1a";
constexpr std::size_t kLongestSequence = 256;  // terminals read at most thirty numbers

bool is_within(char c, unsigned char first, unsigned char last) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= first && byte <= last;
}

}  // namespace

void TerminalParser::reset() {
  place_ = Place::Text;
  character_.clear();
  text_.clear();
}

TerminalParser::Event TerminalParser::take(char c) {
  if (c == kEscape) {
    place_ = place_ == Place::String ? Place::StringEscape : Place::Escape;
    return {};
  }
  if (place_ != Place::Text && kCancels.find(c) != std::string_view::npos) {
    place_ = Place::Text;
    return {};
  }
  if (place_ != Place::Text && place_ != Place::String && is_within(c, 0, 0x1F)) {
    return take_text(c);  // a terminal executes it within a sequence too, and continues the sequence
  }
  switch (place_) {
    case Place::Text:
      return take_text(c);
    case Place::Escape:
    case Place::StringEscape:
      return begin_with(c);
    case Place::Choice:
      return take_choice(c);
    case Place::Sequence:
      return take_sequence(c);
    case Place::String:
      return take_string(c);
  }
  return {};
}

TerminalParser::Event TerminalParser::take_text(char c) {
  if (is_within(c, 0x80, 0xFF)) {
    return take_long_character(c);
  }
  character_ = c;
  is_complete_ = true;
  return {is_within(c, ' ', '~') ? Kind::Character : Kind::Control, c, character_};
}

TerminalParser::Event TerminalParser::take_long_character(char c) {
  if (is_complete_ || is_within(c, 0xC0, 0xFF)) {
    character_.clear();
    is_complete_ = false;
  }
  character_ += c;
  const char first = character_.front();
  const std::size_t length = is_within(first, 0xF0, 0xFF) ? 4 : is_within(first, 0xE0, 0xEF) ? 3 : 2;
  if (character_.size() < length) {
    return {Kind::PartOfCharacter, c, {}};
  }
  is_complete_ = true;
  if (character_.size() == 2 && first == '\xC2' && is_within(c, 0x80, 0x9F)) {
    return begin_with(static_cast<char>(c - 0x40));
  }
  return {Kind::Character, c, character_};
}

/// Handles the byte after ESC; the two bytes of some sequences may also come as one character of Latin 1.
TerminalParser::Event TerminalParser::begin_with(char second) {
  constexpr std::string_view kStrings = "PX]^_";
  constexpr char kDelete = '\x7f';
  if (second == kDelete) {
    return {};
  }
  text_.clear();
  if (second == '[') {
    place_ = Place::Sequence;
    return {};
  }
  if (kStrings.find(second) != std::string_view::npos) {
    place_ = Place::String;
    return {Kind::String, second, {}};
  }
  if (is_within(second, ' ', '/')) {
    text_ = second;
    place_ = Place::Choice;
    return {};
  }
  place_ = Place::Text;
  return {Kind::Escape, second, {}};
}

TerminalParser::Event TerminalParser::take_choice(char c) {
  if (!is_within(c, '0', '~')) {
    return {};
  }
  place_ = Place::Text;
  return {Kind::Choice, c, text_};
}

TerminalParser::Event TerminalParser::take_sequence(char c) {
  const bool is_leading_zero = c == '0' && (text_.empty() || text_.back() == ';');
  if (is_within(c, 0x40, 0x7E)) {
    place_ = Place::Text;
    return {Kind::Sequence, c, text_};
  }
  if (is_within(c, ' ', 0x3F) && text_.size() < kLongestSequence && !is_leading_zero) {
    text_ += c;
  }
  return {};
}

TerminalParser::Event TerminalParser::take_string(char c) {
  place_ = c == kBell ? Place::Text : Place::String;
  return {};
}

}  // namespace muster
