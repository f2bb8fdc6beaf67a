// Parses terminal control sequences, and models the first columns of the terminal's current line.
#include "output/terminal_parser.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace muster {

// Models the first 280 columns of the current line, to detect text that imitates muster's prefix.

namespace {

/// Room for the longest host name and a beginning.
constexpr std::size_t kMostCells = 280;

/// Matches worker names as in "[1:12] " and "[3] ". Host names have no colon, and IPv6 addresses have more than one.
bool is_of_worker(std::string_view name) {
  return std::count(name.begin(), name.end(), ':') == 1 ||
         name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Length of the bracketed host name that a line begins with, including the blank behind it; 0: none.
std::size_t length_of_name(std::string_view line) {
  const std::size_t end = line.starts_with('[') ? line.find("] ") : std::string_view::npos;
  return end == std::string_view::npos || is_of_worker(line.substr(1, end - 1)) ? 0 : end + 2;
}

}  // namespace

void TerminalLine::grow(std::size_t columns) {
  cells_.resize(std::max(cells_.size(), std::min(columns, kMostCells)), ' ');
}

void TerminalLine::write(char letter) {
  if (is_inserting_) {
    insert(1);
  }
  if (column_ < kMostCells) {
    grow(column_ + 1);
    cells_[column_] = letter;
  }
  ++column_;
}

/// Behind the last column a line goes on in the next row, or the last column is overwritten.
void TerminalLine::wrap(std::size_t columns) {
  if (width_ == 0 || column_ + columns <= width_) {
    return;
  }
  if (is_wrapping_) {
    begin_row();
  } else {
    column_ = width_ - std::min(columns, width_);
  }
}

/// Advances the match of the beginning. `kOther`, which may take no column, does not interrupt it.
void TerminalLine::follow(char letter) {
  if (said_ < kBeginning.size() && letter == kBeginning[said_]) {
    ++said_;
  } else {
    said_ = letter == kBeginning.front() ? 1 : 0;
  }
}

void TerminalLine::put(char letter, std::size_t columns) {
  if (letter != kOther) {
    follow(letter);
  }
  last_ = letter;
  wrap(columns);
  for (std::size_t i = 0; i < columns; ++i) {
    write(letter);
  }
}

void TerminalLine::repeat(std::size_t times) {
  doubt();  // some terminals repeat within this line only
  for (std::size_t i = 0; i < std::min(times, kMostCells); ++i) {
    put(last_);
  }
}

void TerminalLine::tab(std::size_t times) {
  forward(times * kTab - column_ % kTab);
}

void TerminalLine::back_tab(std::size_t times) {
  const std::size_t stops = (column_ + kTab - 1) / kTab;
  go_to((stops - std::min(stops, times)) * kTab);
}

void TerminalLine::go_to(std::size_t column) {
  column_ = width_ > 0 ? std::min(column, width_ - 1) : column;
}

void TerminalLine::restore() {
  go_to(saved_);
  change_row();
}

void TerminalLine::back(std::size_t columns) {
  const std::size_t last = width_ > 0 ? width_ - 1 : column_;  // the cursor stays within the line
  column_ = std::min(column_, last) - std::min(std::min(column_, last), columns);
}

void TerminalLine::forward(std::size_t columns) {
  const std::size_t last = width_ > 0 ? std::max(column_, width_ - 1) : column_ + columns;
  column_ = std::min(column_ + columns, last);
  grow(column_);
}

void TerminalLine::reset() {
  is_inserting_ = false;
  is_wrapping_ = true;
  go_to(0);
  save();
  change_row();
}

void TerminalLine::begin() {
  is_doubtful_ = false;
  said_ = 0;
  begin_row();
}

void TerminalLine::begin_row() {
  column_ = 0;
  cells_.clear();
}

void TerminalLine::erase_behind() {
  cells_.resize(std::min(cells_.size(), column_));
}

void TerminalLine::erase_before() {
  const std::size_t count = std::min(cells_.size(), column_ + 1);
  cells_.replace(0, count, count, ' ');
}

void TerminalLine::erase(std::size_t columns) {
  if (column_ < cells_.size()) {
    const std::size_t count = std::min(columns, cells_.size() - column_);
    cells_.replace(column_, count, count, ' ');
  }
}

void TerminalLine::take_out(std::size_t columns) {
  if (column_ < cells_.size()) {
    cells_.erase(column_, columns);
  }
}

void TerminalLine::insert(std::size_t columns) {
  if (column_ < cells_.size()) {
    cells_.insert(column_, std::min(columns, kMostCells), ' ');
    cells_.resize(std::min(cells_.size(), kMostCells));
  }
}

bool TerminalLine::may_begin() const {
  return is_doubtful_ && said_ == kBeginning.size();
}

std::string_view TerminalLine::beginning() const {
  const std::string_view line = cells_;
  const std::size_t name = has_hosts_ ? length_of_name(line) : 0;
  return line.substr(name).starts_with(kBeginning) ? line.substr(0, name + kBeginning.size()) : std::string_view();
}

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

/// Handles the byte after ESC. Some of these are also one character of Latin 1.
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

std::vector<int> numbers_of(std::string_view text) {
  constexpr int kMost = 100'000;
  const std::vector<std::string> pieces = split(text, ';');
  std::vector<int> numbers;
  numbers.reserve(pieces.size());
  for (const std::string& number : pieces) {
    const bool is_large = number.size() > 1 && number.find_first_not_of("0123456789") == std::string::npos;
    numbers.push_back(parse_integer(number, 0, kMost).value_or(is_large ? kMost : 0));
  }
  return numbers;
}

std::size_t count_at(std::size_t index, const std::vector<int>& numbers) {
  const int number = index < numbers.size() ? numbers[index] : 0;
  return static_cast<std::size_t>(std::max(number, 1));
}

}  // namespace muster
