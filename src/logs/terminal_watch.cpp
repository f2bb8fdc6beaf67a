// What a terminal does with a worker's bytes: https://vt100.net/emu/dec_ansi_parser, as far as it matters here. Pure.
#include <muster/base/columns.hpp>
#include <muster/base/text.hpp>
#include <muster/logs/terminal_controls.hpp>
#include <muster/logs/terminal_watch.hpp>

namespace muster {
namespace {

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

constexpr std::size_t kLongestControl = 256;  // terminals read thirty numbers or less

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
    shown += c;
    take(c);
    mark(shown);
  }
  return shown;
}

/// A part of it may have been shown long ago: it is written over.
void TerminalWatch::mark(std::string& shown) {
  if (const std::string beginning(line_.beginning()); !beginning.empty()) {
    line_.begin_row();
    write_mark("\r", beginning, shown);
  } else if (line_.may_begin()) {
    line_.back(kBeginning.size());
    write_mark(std::string(kBeginning.size(), '\b'), kBeginning, shown);
  }
}

void TerminalWatch::write_mark(std::string_view way,
                               std::string_view beginning,
                               std::string& shown) {
  shown += way;
  const std::string marked = std::string(kMark).append(beginning);
  for (const char c : marked) {
    shown += c;
    line_.put(c);
  }
  line_.note_mark();
}

void TerminalWatch::take(char c) {
  if (c == kEscape) {
    place_ = place_ == Place::String ? Place::StringEscape : Place::Escape;
    return;
  }
  if (place_ != Place::Text && kCancels.find(c) != std::string_view::npos) {
    place_ = Place::Text;
    return;
  }
  if (place_ != Place::Text && place_ != Place::String && is_within(c, 0, 0x1F)) {
    take_text(c);  // a terminal obeys it all the same, and reads on
    return;
  }
  switch (place_) {
    case Place::Text:
      take_text(c);
      break;
    case Place::Escape:
      begin_with(c);
      break;
    case Place::Choice:
      take_choice(c);
      break;
    case Place::Control:
      take_control(c);
      break;
    case Place::String:
      place_ = c == kBell ? Place::Text : Place::String;
      break;
    case Place::StringEscape:
      begin_with(c);
      break;
  }
}

void TerminalWatch::take_text(char c) {
  if (is_within(c, 0x80, 0xFF)) {
    line_.doubt();
    take_long_character(c);
    return;
  }
  character_.clear();
  switch (c) {
    case '\n':
      line_.begin();
      break;
    case '\r':
      line_.go_to(0);
      break;
    case '\b':
      line_.back(1);
      break;
    case '\t':
      line_.tab();
      break;
    case '\x0e':
      is_changed_ = true;  // other letters
      break;
    default:
      if (is_within(c, ' ', '~')) {
        line_.put(c);
      }
  }
}

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
    begin_with(static_cast<char>(c - 0x40));
  } else {
    line_.put(is_blank(character_) ? ' ' : kOther,
              static_cast<std::size_t>(columns_of(character_)));
  }
  character_.clear();
}

/// What follows ESC. Some of it is also one character of Latin 1.
void TerminalWatch::begin_with(char second) {
  constexpr std::string_view kStrings = "PX]^_";
  constexpr char kDelete = '\x7f';
  if (second == kDelete) {
    return;
  }
  control_.clear();
  if (second == '[') {
    place_ = Place::Control;
  } else if (kStrings.find(second) != std::string_view::npos) {
    is_painted_ = true;
    place_ = Place::String;
  } else if (is_within(second, ' ', '/')) {
    control_ = second;
    place_ = Place::Choice;
  } else {
    place_ = Place::Text;
    is_changed_ = obey_escape(line_, second) || is_changed_;
  }
}

void TerminalWatch::take_choice(char c) {
  if (!is_within(c, '0', '~')) {
    return;
  }
  place_ = Place::Text;
  is_changed_ = true;
  if (control_ == "#") {  // the size of letters, or a screen full of them
    line_.go_to(0);
    line_.change_row();
  }
}

void TerminalWatch::take_control(char c) {
  const bool is_leading_zero = c == '0' && (control_.empty() || control_.back() == ';');
  if (is_within(c, 0x40, 0x7E)) {
    place_ = Place::Text;
    end_control(c);
  } else if (is_within(c, ' ', 0x3F) && control_.size() < kLongestControl && !is_leading_zero) {
    control_ += c;
  }
}

void TerminalWatch::end_control(char last) {
  const ControlEffect effect = obey_control(line_, control_, last);
  is_coloured_ = true;
  is_changed_ = is_changed_ || effect.is_changed;
  is_other_screen_ = effect.is_other_screen.value_or(is_other_screen_);
}

std::string TerminalWatch::clear_the_way() {
  std::string way;
  way += place_ == Place::Text ? std::string_view() : kEndOfString;
  way += is_other_screen_ ? kUsualScreen : std::string_view();
  way += is_painted_ ? kUsualPaint : std::string_view();
  way += is_changed_ ? kUsualWays : std::string_view();
  way += is_coloured_ || is_changed_ ? kUsualColours : std::string_view();
  if (is_changed_) {
    line_.reset();
  }
  line_.begin();
  place_ = Place::Text;
  character_.clear();
  control_.clear();
  is_coloured_ = is_changed_ = is_painted_ = is_other_screen_ = false;
  return way;
}

}  // namespace muster
