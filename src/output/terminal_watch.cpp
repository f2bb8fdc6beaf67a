// What a terminal does with a worker's bytes, and what is added to them. Pure.
#include "base/columns.hpp"
#include "output/terminal_controls.hpp"
#include "output/terminal_watch.hpp"

namespace muster {
namespace {

constexpr std::string_view kMark = "| ";

constexpr std::string_view kEndOfString = "\x1b\\";
constexpr std::string_view kUsualScreen = "\x1b[?1049l";
constexpr std::string_view kUsualColours = "\x1b[m";
/// The palette, and the colours of text and of what is behind it.
constexpr std::string_view kUsualPaint = "\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\";
/// The whole screen scrolls (which alone would move the cursor), letters are letters, nothing is inserted, long lines wrap, the
/// cursor is seen, and nothing stands below it.
constexpr std::string_view kResetSequence =
    "\x1b"
    "7\x1b[r\x1b"
    "8\x1b(B\x0f\x1b[4l\x1b[?7h\x1b[?25h\x1b[J";

}  // namespace

std::string TerminalSanitizer::show(std::string_view bytes) {
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
void TerminalSanitizer::mark(std::string& shown) {
  if (const std::string beginning(line_.beginning()); !beginning.empty()) {
    line_.begin_row();
    write_mark("\r", beginning, shown);
  } else if (line_.may_begin()) {
    line_.back(kBeginning.size());
    write_mark(std::string(kBeginning.size(), '\b'), kBeginning, shown);
  }
}

void TerminalSanitizer::write_mark(std::string_view way,
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

void TerminalSanitizer::take(char c) {
  using Kind = TerminalParser::Kind;
  const TerminalParser::Event event = parser_.take(c);
  switch (event.kind) {
    case Kind::Nothing:
      break;
    case Kind::Control:
      obey(event.last);
      break;
    case Kind::PartOfCharacter:
      line_.doubt();
      break;
    case Kind::Character:
      put(event.text);
      break;
    case Kind::Escape:
      is_changed_ = obey_escape(line_, event.last) || is_changed_;
      break;
    case Kind::Choice:
      choose(event.text);
      break;
    case Kind::Sequence:
      obey_sequence(event.text, event.last);
      break;
    case Kind::String:
      is_painted_ = true;
      break;
  }
}

void TerminalSanitizer::obey(char control) {
  switch (control) {
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
      break;
  }
}

void TerminalSanitizer::put(std::string_view character) {
  if (character.size() == 1) {
    line_.put(character.front());
    return;
  }
  line_.doubt();
  line_.put(is_blank(character) ? ' ' : kOther, static_cast<std::size_t>(display_width(character)));
}

void TerminalSanitizer::choose(std::string_view what) {
  is_changed_ = true;
  if (what == "#") {  // the size of letters, or a screen full of them
    line_.go_to(0);
    line_.change_row();
  }
}

void TerminalSanitizer::obey_sequence(std::string_view text, char last) {
  const ControlEffect effect = obey_control(line_, text, last);
  is_coloured_ = true;
  is_changed_ = is_changed_ || effect.is_changed;
  is_other_screen_ = effect.is_other_screen.value_or(is_other_screen_);
}

std::string TerminalSanitizer::write_reset() {
  std::string way;
  way += parser_.is_within_sequence() ? kEndOfString : std::string_view();
  way += is_other_screen_ ? kUsualScreen : std::string_view();
  way += is_painted_ ? kUsualPaint : std::string_view();
  way += is_changed_ ? kResetSequence : std::string_view();
  way += is_coloured_ || is_changed_ ? kUsualColours : std::string_view();
  if (is_changed_) {
    line_.reset();
  }
  line_.begin();
  parser_.reset();
  is_coloured_ = is_changed_ = is_painted_ = is_other_screen_ = false;
  return way;
}

}  // namespace muster
