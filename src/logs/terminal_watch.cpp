// What a terminal does with a worker's bytes: https://vt100.net/emu/dec_ansi_parser, as far as it matters here. Pure.
#include <muster/base/columns.hpp>
#include <muster/base/text.hpp>
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
  switch (place_) {
    case Place::Text:
      take_text(c);
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
    begin_with_one_byte(c);
  } else {
    line_.put(is_blank(character_) ? ' ' : kOther,
              static_cast<std::size_t>(columns_of(character_)));
  }
  character_.clear();
}

/// Nobody knows where the cursor is, or what else stands there: it may still be this line, and where that begins.
void TerminalWatch::move_away() {
  is_changed_ = true;
  line_.go_to(0);
}

/// What follows ESC. "ESC [" is also one character, and so are others.
void TerminalWatch::begin_with(char second) {
  constexpr std::string_view kChoices = "()*+-./%# ";
  if (is_within(second, 0x40, 0x5F)) {
    begin_with_one_byte(static_cast<char>(second + 0x40));
    return;
  }
  move_away();
  place_ = kChoices.find(second) != std::string_view::npos ? Place::Letters : Place::Text;
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
    move_away();
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
    take_text(c);  // a terminal obeys it all the same
  }
}

void TerminalWatch::end_control(char last) {
  const bool is_private = control_.starts_with('>') || control_.starts_with('?');
  const bool is_screen = control_ == "?1049" || control_ == "?1047" || control_ == "?47";
  is_coloured_ = true;
  if (!is_private && (last == 'm' || stay_in_line(last))) {
    return;
  }
  move_away();
  if (is_screen && (last == 'h' || last == 'l')) {
    is_other_screen_ = last == 'h';
  }
}

/// What moves the cursor within its line, or changes that. False: it is something else.
bool TerminalWatch::stay_in_line(char last) {
  constexpr int kMost = 100'000;
  const int number = parse_integer(control_, 0, kMost).value_or(0);
  const auto count = static_cast<std::size_t>(number > 0 ? number : 1);
  switch (last) {
    case 'K':
      erase_line(number);
      return true;
    case 'G':
    case '`':
      line_.go_to(count - 1);
      return true;
    case 'C':
    case 'a':
      line_.forward(count);
      return true;
    case 'D':
      line_.back(count);
      return true;
    case 'P':
      line_.take_out(count);
      return true;
    case '@':
      line_.insert(count);
      return true;
    case 'X':
      line_.erase(count);
      return true;
    default:
      return false;
  }
}

void TerminalWatch::erase_line(int what) {
  if (what != 1) {
    line_.erase_behind();
  }
  if (what != 0) {
    line_.erase_before();
  }
}

std::string TerminalWatch::clear_the_way() {
  std::string way;
  way += place_ == Place::Text ? std::string_view() : kEndOfString;
  way += is_other_screen_ ? kUsualScreen : std::string_view();
  way += is_painted_ ? kUsualPaint : std::string_view();
  way += is_changed_ ? kUsualWays : std::string_view();
  way += is_coloured_ || is_changed_ ? kUsualColours : std::string_view();
  line_.begin();
  place_ = Place::Text;
  character_.clear();
  control_.clear();
  is_coloured_ = is_changed_ = is_painted_ = is_other_screen_ = false;
  return way;
}

}  // namespace muster
