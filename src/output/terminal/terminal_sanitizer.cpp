// Finds in the text of lines where a row of the terminal may begin with a message of muster, and composes the
// controls (https://invisible-island.net/xterm/ctlseqs/ctlseqs.html) that restore the terminal.
#include "output/terminal/terminal_sanitizer.hpp"

#include "base/display_text.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <vector>

namespace muster {
namespace {

/// The beginning of each message of muster.
constexpr std::string_view kBeginning = "muster: ";
/// Goes back over the eight characters "muster: ", and writes the mark and these characters there. A mark put in
/// front could push them to the beginning of the terminal's next row, where they would look like a message.
constexpr std::string_view kMark = "\b\b\b\b\b\b\b\b| muster: ";
constexpr std::size_t kMarkColumns = 2;
/// Columns of the widest character.
constexpr std::size_t kWidestCharacter = 2;
/// Room for the longest host name and a beginning.
constexpr std::size_t kMostLetters = 280;

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

/// True for the mode of another screen.
bool is_screen(std::string_view mode) {
  return mode == "47" || mode == "1047" || mode == "1049";
}

/// Matches worker names as in "[1:12] " and "[3] ". Host names have no colon, and IPv6 addresses have more than one.
bool is_of_worker(std::string_view name) {
  return std::count(name.begin(), name.end(), ':') == 1 ||
         name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// True for a bracketed host name and the blank behind it.
bool is_host(std::string_view text) {
  const bool has_brackets = text.starts_with('[') && text.size() > 2 && text.find("] ") == text.size() - 2;
  return has_brackets && !is_of_worker(text.substr(1, text.size() - 3));
}

}  // namespace

std::string sanitize_marked(std::string_view line) {
  std::string text;
  for (std::size_t at = line.find(kMark); at != std::string_view::npos; at = line.find(kMark)) {
    text.append(sanitize(line.substr(0, at))).append(kMark);
    line.remove_prefix(at + kMark.size());
  }
  return text + sanitize(line);
}

void TerminalSanitizer::note(std::string_view bytes) {
  for (const char c : bytes) {
    (void)take(c);
  }
}

TerminalParser::Event TerminalSanitizer::take(char c) {
  using Kind = TerminalParser::Kind;
  constexpr char kOtherLetters = '\x0e';
  const TerminalParser::Event event = parser_.take(c);
  const bool is_other_set = event.kind == Kind::Control && event.last == kOtherLetters;
  const bool ends_string = event.kind == Kind::Escape && event.last == '\\';
  is_changed_ =
      is_changed_ || event.kind == Kind::Choice || is_other_set || (event.kind == Kind::Escape && !ends_string);
  is_painted_ = is_painted_ || event.kind == Kind::String;
  if (event.kind == Kind::Sequence) {
    const bool is_private = event.text.find_first_of("<=>?") != std::string_view::npos;
    is_coloured_ = true;
    is_changed_ = is_changed_ || is_private || (event.last != 'm' && event.last != 'K');
    if (event.text.starts_with('?') && (event.last == 'h' || event.last == 'l')) {
      const std::vector<std::string> modes = split(event.text.substr(1), ';');
      const bool is_of_screen = std::any_of(modes.begin(), modes.end(), is_screen);
      is_other_screen_ = is_of_screen ? event.last == 'h' : is_other_screen_;
    }
  }
  return event;
}

std::string TerminalSanitizer::mark(std::string_view lines) {
  if (lines.empty()) {
    return {};
  }
  std::string marked;
  marked.reserve(lines.size());
  for (const char c : lines) {
    const TerminalParser::Event event = take(c);
    marked += c;
    if (event.kind == TerminalParser::Kind::Control) {
      obey(event.last);
    } else if (event.kind == TerminalParser::Kind::Character) {
      put(event.text);
    } else if (event.kind == TerminalParser::Kind::PartOfCharacter) {
      columns_ += kWidestCharacter;
    }
    const bool is_beginning = matching_ == kBeginning.size();
    if (is_beginning && may_begin()) {
      marked += kMark;
      columns_ += kMarkColumns;
    }
    matching_ = is_beginning ? 0 : matching_;
  }
  is_unfinished_ = lines.back() != '\n';
  return marked;
}

void TerminalSanitizer::obey(char control) {
  if (control == '\n') {
    begin_line();
  } else if (control == '\r') {
    text_.clear();  // what stands behind the return was erased, or has a prefix now
    columns_ = 0;
    matching_ = 0;
  } else if (control == '\t') {
    put_letter(' ', kTab);
  }
}

/// Puts a character. One that is not ASCII takes no column on some terminals, and on others each of its bytes is shown
/// as a character; those before its last byte are counted as they come.
void TerminalSanitizer::put(std::string_view character) {
  if (character.size() == 1) {
    put_letter(character.front(), 1);
  } else if (is_blank(character)) {
    put_letter(' ', kWidestCharacter);
  } else {
    columns_ += kWidestCharacter;
  }
}

void TerminalSanitizer::put_letter(char letter, std::size_t columns) {
  const bool goes_on = letter == kBeginning[matching_];
  matching_ = goes_on ? matching_ + 1 : letter == kBeginning.front() ? 1 : 0;
  columns_ += columns;
  if (text_.size() < kMostLetters) {
    text_ += letter;
  }
}

void TerminalSanitizer::begin_line() {
  text_.clear();
  columns_ = 0;
  matching_ = 0;
  is_unfinished_ = false;
}

/// True when the "muster: " at the end of the text may be the beginning of a row of the terminal.
bool TerminalSanitizer::may_begin() const {
  if (is_unfinished_ || (width_ > 0 && columns_ >= width_ + kBeginning.size())) {
    return true;
  }
  if (!text_.ends_with(kBeginning)) {
    return false;  // a message begins nearer to the line's beginning
  }
  // The text behind the time that --console-time puts before a message; the same text where there is none.
  const std::string_view text = std::string_view(text_).substr(0, text_.size() - kBeginning.size());
  const std::size_t end = text.starts_with('[') ? 0 : text.find_first_not_of("0123456789-+:.TZs ");
  const std::string_view before = end == std::string_view::npos ? std::string_view() : text.substr(end);
  return before.empty() || (has_hosts_ && is_host(before));
}

std::string TerminalSanitizer::write_reset() {
  std::string sequence;
  sequence += parser_.is_within_sequence() ? kEndOfString : std::string_view();
  sequence += is_other_screen_ ? kUsualScreen : std::string_view();
  sequence += is_painted_ ? kUsualPaint : std::string_view();
  sequence += is_changed_ ? kResetSequence : std::string_view();
  sequence += is_coloured_ || is_changed_ ? kUsualColours : std::string_view();
  begin_line();
  parser_.reset();
  is_coloured_ = is_changed_ = is_painted_ = is_other_screen_ = false;
  return sequence;
}

}  // namespace muster
