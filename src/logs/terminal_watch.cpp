// What a terminal does with a worker's bytes: https://vt100.net/emu/dec_ansi_parser, as far as it matters here. Pure.
#include <muster/base/visible.hpp>
#include <muster/logs/terminal_watch.hpp>

namespace muster {
namespace {

constexpr std::string_view kBeginning = "muster: ";  // of each line of muster's own
constexpr std::string_view kMark = "| ";

constexpr char kEscape = '\x1b';
constexpr char kBell = '\a';
constexpr std::string_view kCancels = "\x18\x1a";

constexpr std::string_view kEndOfString = "\x1b\\";
constexpr std::string_view kUsualScreen = "\x1b[?1049l";
constexpr std::string_view kUsualColours = "\x1b[m";
/// The palette, and the colours of text and of what is behind it.
constexpr std::string_view kUsualPaint = "\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\";
/// The whole screen scrolls (which alone would move the cursor), letters are letters, nothing is inserted, long lines wrap, the
/// cursor is seen, and nothing stands below it.
constexpr std::string_view kUsualWays =
    "\x1b"
    "7\x1b[r\x1b"
    "8\x1b(B\x0f\x1b[4l\x1b[?7h\x1b[?25h\x1b[J";

constexpr std::size_t kLongestControl = 16;  // of those that are looked at

bool is_within(char c, unsigned char first, unsigned char last) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= first && byte <= last;
}

/// Bytes of the character that begins so.
std::size_t length_of(char first) {
  return is_within(first, 0xF0, 0xFF) ? 4 : is_within(first, 0xE0, 0xEF) ? 3 : 2;
}

}  // namespace

std::string TerminalWatch::show(std::string_view bytes) {
  std::string shown;
  shown.reserve(bytes.size());
  for (const char c : bytes) {
    take(c, shown);
  }
  return shown;
}

void TerminalWatch::take(char c, std::string& shown) {
  shown += c;
  if (c == kEscape) {
    place_ = place_ == Place::String ? Place::StringEscape : Place::Escape;
    return;
  }
  if (place_ != Place::Text && kCancels.find(c) != std::string_view::npos) {
    place_ = Place::Text;
    return;
  }
  switch (place_) {
    case Place::Text:
      take_text(c, shown);
      break;
    case Place::Escape:
      begin_with(c);
      break;
    case Place::Letters:
      place_ = Place::Text;
      break;
    case Place::Control:
      take_control(c);
      break;
    case Place::String:
      place_ = c == kBell ? Place::Text : Place::String;
      break;
    case Place::StringEscape:
      if (c == '\\') {
        place_ = Place::Text;
      } else {
        begin_with(c);
      }
      break;
  }
}

void TerminalWatch::take_text(char c, std::string& shown) {
  if (is_within(c, 0x80, 0xFF)) {
    take_long_character(c);
    return;
  }
  character_.clear();
  switch (c) {
    case '\n':
    case '\r':
    case '\b':
    case '\v':
    case '\f':
      matched_ = 0;  // what follows may stand where a line begins
      break;
    case '\x0e':
      is_changed_ = true;  // other letters
      break;
    case '\t':
      matched_ = kNoLine;
      break;
    default:
      if (is_within(c, ' ', '~')) {
        take_letter(c, shown);
      }
  }
}

void TerminalWatch::take_letter(char c, std::string& shown) {
  const bool goes_on = matched_ != kNoLine && c == kBeginning[matched_];
  matched_ = goes_on ? matched_ + 1 : kNoLine;
  if (matched_ ==
      kBeginning.size()) {  // a part of it may have been shown long ago: it is written over
    matched_ = kNoLine;
    shown += '\r';
    shown += kMark;
    shown += kBeginning;
  }
}

/// One that cannot be seen changes nothing: the letters around it stand side by side.
void TerminalWatch::take_long_character(char c) {
  if (is_within(c, 0xC0, 0xFF)) {
    character_ = c;
    return;
  }
  character_ += c;
  if (character_.size() < length_of(character_.front())) {
    return;
  }
  if (character_.size() == 2 && character_.front() == '\xC2' && is_within(c, 0x80, 0x9F)) {
    begin_with_one_byte(c);
  } else if (visible(character_) == character_) {
    matched_ = kNoLine;
  }
  character_.clear();
}

/// What follows ESC. "ESC [" is also one character, and so are others.
void TerminalWatch::begin_with(char second) {
  constexpr std::string_view kChoices = "()*+-./%# ";
  if (is_within(second, 0x40, 0x5F)) {
    begin_with_one_byte(static_cast<char>(second + 0x40));
    return;
  }
  is_changed_ = true;
  place_ = kChoices.find(second) != std::string_view::npos ? Place::Letters : Place::Text;
  matched_ = 0;
}

void TerminalWatch::begin_with_one_byte(char second) {
  constexpr std::string_view kStrings = "\x90\x98\x9D\x9E\x9F";
  if (second == '\x9B') {
    control_.clear();
    place_ = Place::Control;
  } else if (kStrings.find(second) != std::string_view::npos) {
    is_painted_ = true;
    place_ = Place::String;
  } else {
    is_changed_ = true;
    matched_ = 0;
    place_ = Place::Text;
  }
}

void TerminalWatch::take_control(char c) {
  if (is_within(c, 0x40, 0x7E)) {
    end_control(c);
    place_ = Place::Text;
  } else if (is_within(c, ' ', 0x3F) && control_.size() < kLongestControl) {
    control_ += c;
  } else if (is_within(c, 0, 0x1F)) {
    matched_ = 0;  // a terminal obeys it all the same
  }
}

void TerminalWatch::end_control(char last) {
  const bool is_private = control_.starts_with('>') || control_.starts_with('?');
  const bool stays_in_line = !is_private && (last == 'm' || last == 'K');  // colours, erasing
  const bool is_screen = control_ == "?1049" || control_ == "?1047" || control_ == "?47";
  is_coloured_ = true;
  if (stays_in_line) {
    return;
  }
  is_changed_ = true;
  matched_ = 0;
  if (is_screen && (last == 'h' || last == 'l')) {
    is_other_screen_ = last == 'h';
  }
}

std::string TerminalWatch::clear_the_way() {
  std::string way;
  way += place_ == Place::Text ? std::string_view() : kEndOfString;
  way += is_other_screen_ ? kUsualScreen : std::string_view();
  way += is_painted_ ? kUsualPaint : std::string_view();
  way += is_changed_ ? kUsualWays : std::string_view();
  way += is_coloured_ || is_changed_ ? kUsualColours : std::string_view();
  *this = TerminalWatch();
  return way;
}

}  // namespace muster
