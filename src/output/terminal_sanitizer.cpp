// Applies terminal controls (https://invisible-island.net/xterm/ctlseqs/ctlseqs.html) to the model of the current
// line, and marks text that imitates muster's messages.
#include "output/terminal_sanitizer.hpp"

#include "base/display_text.hpp"

#include <algorithm>
#include <vector>

namespace muster {
namespace {

constexpr int kSavedCursor = 1048;
constexpr int kSavedScreen = 1049;

bool is_screen(int mode) {
  constexpr int kScreen = 47;
  constexpr int kCleanScreen = 1047;
  return mode == kScreen || mode == kCleanScreen || mode == kSavedScreen;
}

/// Mode 3 erases the scrollback only.
void erase_line(TerminalLine& line, int what) {
  if (what == 0 || what == 2) {
    line.erase_behind();
  }
  if (what == 1 || what == 2) {
    line.erase_before();
  }
}

/// Handles controls that stay in the line. False: it is another control.
bool hold_line(TerminalLine& line, char last, const std::vector<int>& numbers) {
  const std::size_t count = count_at(0, numbers);
  switch (last) {
    case 'J':
    case 'K':
      erase_line(line, numbers.empty() ? 0 : numbers.front());
      return true;
    case 'G':
    case '`':
      line.go_to(count - 1);
      return true;
    case 'C':
    case 'a':
      line.forward(count);
      return true;
    case 'D':
    case 'j':
      line.back(count);
      return true;
    case 'I':
      line.tab(count);
      return true;
    case 'Z':
      line.back_tab(count);
      return true;
    case 'P':
      line.take_out(count);
      return true;
    case '@':
      line.insert(count);
      return true;
    case 'X':
      line.erase(count);
      return true;
    case 'b':
      line.repeat(count);
      return true;
    default:
      return false;
  }
}

/// Handles controls that may leave the line; only the column is known afterwards.
void leave_line(TerminalLine& line, char last, const std::vector<int>& numbers) {
  constexpr std::string_view kToTheFirstColumn = "EFLMr";
  constexpr std::string_view kStay = "chlnqt";
  if (last == 's') {
    line.save();
  } else if (last == 'u') {
    line.restore();
  } else if (last == 'H' || last == 'f') {
    line.go_to(count_at(1, numbers) - 1);
    line.change_row();
  } else if (kToTheFirstColumn.find(last) != std::string_view::npos) {
    line.go_to(0);
    line.change_row();
  } else if (kStay.find(last) == std::string_view::npos) {
    line.change_row();
  }
}

/// Other modes concern the keyboard, the mouse and the look of the cursor.
void set_private_mode(TerminalLine& line, int mode, bool is_on) {
  constexpr int kWidth = 3;
  constexpr int kOrigin = 6;
  constexpr int kWrapping = 7;
  constexpr int kWrappingBackwards = 45;
  constexpr int kMargins = 69;
  if (mode == kWidth || mode == kOrigin) {
    line.go_to(0);
    line.change_row();
  } else if (mode == kWrapping) {
    line.wrap_from_now_on(is_on);
  } else if (mode == kSavedCursor || mode == kSavedScreen) {
    if (is_on) {
      line.save();
    } else {
      line.restore();
    }
  } else if (mode == kWrappingBackwards || mode == kMargins || is_screen(mode)) {
    line.change_row();
  }
}

/// Sets modes. Returns whether the other screen is shown from now on; empty: no change.
std::optional<bool> set_private_modes(TerminalLine& line, const std::vector<int>& modes, bool is_on) {
  std::optional<bool> is_other_screen;
  for (const int mode : modes) {
    set_private_mode(line, mode, is_on);
    if (is_screen(mode)) {
      is_other_screen = is_on;
    }
  }
  return is_other_screen;
}

}  // namespace

bool obey_escape(TerminalLine& line, char last) {
  constexpr std::string_view kStay = "=>NOZlmno|}~";
  if (last == '\\') {
    return false;  // the end of a string
  }
  switch (last) {
    case '6':
      line.back(1);
      break;
    case '7':
      line.save();
      break;
    case '8':
      line.restore();
      break;
    case '9':
      line.forward(1);
      break;
    case 'E':
      line.go_to(0);
      line.change_row();
      break;
    case 'c':
      line.reset();
      break;
    default:
      if (kStay.find(last) == std::string_view::npos) {
        line.change_row();
      }
  }
  return true;
}

ControlEffect obey_control(TerminalLine& line, std::string_view control, char last) {
  constexpr int kInsertion = 4;
  if (last == 'm' && control.find_first_of("<=>?") == std::string_view::npos) {
    return {};  // colours
  }
  const bool sets = last == 'h' || last == 'l';
  if (sets && control.starts_with('?')) {
    return {true, set_private_modes(line, numbers_of(control.substr(1)), last == 'h')};
  }
  if (control == "!" && last == 'p') {
    line.reset();
  }
  if (control.find_first_not_of("0123456789;") != std::string_view::npos) {
    return {true, {}};
  }
  const std::vector<int> numbers = numbers_of(control);
  if (sets && std::find(numbers.begin(), numbers.end(), kInsertion) != numbers.end()) {
    line.insert_from_now_on(last == 'h');
  }
  if (hold_line(line, last, numbers)) {
    return {};
  }
  leave_line(line, last, numbers);
  return {true, {}};
}

// The sanitizer: rewrites the output of workers for a terminal. Pure.

namespace {

constexpr std::string_view kMark = "| ";

constexpr std::string_view kEndOfString = "\x1b\\";
constexpr std::string_view kUsualScreen = "\x1b[?1049l";
constexpr std::string_view kUsualColours = "\x1b[m";
/// Resets the palette and the colours of text and background.
constexpr std::string_view kUsualPaint = "\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\";
/// Restores the terminal: the scroll region is the whole screen (setting it moves the cursor, hence save and
/// restore), the character set is ASCII, insert mode is off, wrapping is on, the cursor is visible, the screen below
/// is erased.
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

/// Marks the beginning of a line by overwriting it, because a part of it may have been shown long ago.
void TerminalSanitizer::mark(std::string& shown) {
  if (const std::string beginning(line_.beginning()); !beginning.empty()) {
    line_.begin_row();
    write_mark("\r", beginning, shown);
  } else if (line_.may_begin()) {
    line_.back(kBeginning.size());
    write_mark(std::string(kBeginning.size(), '\b'), kBeginning, shown);
  }
}

void TerminalSanitizer::write_mark(std::string_view way, std::string_view beginning, std::string& shown) {
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
      is_changed_ = true;  // another character set
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
