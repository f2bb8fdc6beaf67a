// Draws the rows of workers at the foot of a terminal. A row is text with colours
// (https://invisible-island.net/xterm/ctlseqs/ctlseqs.html), nothing of a terminal's cells is kept.
#include "output/terminal/drawn_rows.hpp"

#include "base/display_text.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kLongestRow = 8192;  // bytes; more than any terminal has columns
constexpr std::size_t kMostHeld = 100;     // lines; bounds memory

/// A row as it is on the screen.
struct CutRow {
  std::string text;
  std::size_t columns = 0;
};

std::string colours(std::string_view numbers) {
  return std::string("\x1b[").append(numbers) + 'm';
}

/// Text with its colours ended.
std::string ended(std::string text) {
  const std::size_t last = text.rfind('\x1b');
  return last == std::string::npos || text.compare(last, 3, colours("")) == 0 ? text : text + colours("");
}

/// True for text of blanks and colours.
bool has_nothing_to_see(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\x1b')) {
    text.remove_prefix(text.front() == ' ' ? 1 : std::min(text.find('m'), text.size() - 1) + 1);
  }
  return text.empty();
}

/// The part of a row that fits into the width (0: not known). A wide character stays whole.
CutRow cut_row(std::string_view row, std::size_t width) {
  using Kind = TerminalParser::Kind;
  TerminalParser parser;
  CutRow cut;
  for (const char c : valid_utf8(row.substr(0, kLongestRow))) {
    const TerminalParser::Event event = parser.take(c);
    if (event.kind == Kind::Sequence) {
      cut.text += colours(event.text);
    } else if (event.kind == Kind::Character || event.kind == Kind::Control) {
      const std::string_view letter = event.kind == Kind::Character ? event.text : " ";
      const auto columns = static_cast<std::size_t>(display_width(letter));
      if (width > 0 && cut.columns + columns > width) {
        break;
      }
      cut.text += letter;
      cut.columns += columns;
    }
  }
  cut.text = ended(std::move(cut.text));
  return cut;
}

}  // namespace

// The rows of all workers.

void LiveRows::set_size(std::size_t rows, std::size_t columns) {
  is_outdated_ = is_outdated_ || ((rows != height_ || columns != width_) && !of_.empty());
  height_ = rows;
  width_ = columns;
}

void LiveRows::set(std::size_t worker, std::string row) {
  const auto known = of_.find(worker);
  if (known == of_.end() ? row.empty() : known->second == row) {
    return;
  }
  is_outdated_ = true;
  if (row.empty()) {
    of_.erase(known);
  } else {
    of_.insert_or_assign(worker, std::move(row));
  }
}

std::string LiveRows::erase() {
  if (drawn_.empty()) {
    return {};
  }
  std::size_t up = 0;
  for (const std::size_t columns : drawn_) {
    up += width_ > 0 ? std::max<std::size_t>((columns + width_ - 1) / width_, 1) : 1;
  }
  drawn_.clear();
  is_outdated_ = !of_.empty();
  return "\r\x1b[" + std::to_string(up) + "A\x1b[J";
}

std::string LiveRows::draw() {
  const std::size_t half = height_ > 0 ? std::max<std::size_t>(height_ / 2, 2) - 1 : kMost;
  const std::size_t most = std::min(kMost, half);
  std::string text;
  const auto draw_row = [&](std::string_view row) {
    const CutRow cut = cut_row(row, width_);
    drawn_.push_back(cut.columns);
    text.append(cut.text) += '\n';
  };
  drawn_.clear();
  is_outdated_ = false;
  for (const auto& [worker, row] : of_) {
    if (drawn_.size() < most) {
      draw_row(row);
    }
  }
  if (of_.size() > most) {
    draw_row("... " + std::to_string(of_.size() - most) + " more");
  }
  return text;
}

void LiveRows::leave() {
  drawn_.clear();
  is_outdated_ = !of_.empty();
  is_left_ = true;
}

// The row of one worker.

void DrawnRows::feed(std::string_view bytes, std::string& lines) {
  using Kind = TerminalParser::Kind;
  for (const char c : bytes) {
    if (c == '\n') {
      parser_.reset();  // a sequence ends with its line
    }
    const TerminalParser::Event event = parser_.take(c);
    if (event.kind == Kind::Control) {
      obey(event.last, lines);
    } else if (event.kind == Kind::Sequence) {
      obey_sequence(event.text, event.last);
    } else if (event.kind == Kind::Character) {
      begin_again();
      text_ += sanitize(event.text);
    }
    if (text_.size() > kLongestLine) {
      held_.push_back(std::exchange(text_, {}));
      give_out(held_.size(), lines);
    }
  }
}

void DrawnRows::obey(char control, std::string& lines) {
  if (control == '\n') {
    end_line(lines);
  } else if (control == '\r') {
    has_returned_ = true;
  } else if (control == '\b') {
    take_back_character();
  } else if (control == '\t') {
    begin_again();
    text_ += '\t';
  }
}

/// Obeys a control sequence. Colours stay; of all movements only those to the beginning of a row count.
void DrawnRows::obey_sequence(std::string_view text, char last) {
  if (text.find_first_not_of("0123456789;:") != std::string_view::npos) {
    return;
  }
  const auto count = static_cast<std::size_t>(parse_integer(text, 1, static_cast<int>(kMostHeld)).value_or(1));
  if (last == 'm') {
    begin_again();
    text_ += colours(text);
  } else if (last == 'K' || last == 'J') {
    begin_again();
    text_ = text == "2" ? std::string() : text_;
  } else if (last == 'A' || last == 'F') {
    held_.resize(held_.size() - std::min(count, held_.size()));
    settled_ = std::min(settled_, held_.size());
    climbed_ = std::min(climbed_ + count, kMostHeld);
    has_returned_ = true;
  } else if (last == 'B' || last == 'E') {
    climbed_ -= std::min(count, climbed_);
    has_returned_ = true;
  } else if (last == 'G') {
    has_returned_ = count == 1;
  }
}

/// Begins the row again after a carriage return, if text follows: some bars end with a return, and their row stays.
void DrawnRows::begin_again() {
  if (std::exchange(has_returned_, false)) {
    text_.clear();
    is_drawn_ = true;
  }
}

/// Obeys a backspace, which echoes of typed keys and spinners use: removes the row's last character.
void DrawnRows::take_back_character() {
  if (has_returned_) {
    return;
  }
  const std::size_t colour = text_.rfind('\x1b');
  const std::size_t begin = colour == std::string::npos ? 0 : text_.find('m', colour) + 1;
  std::size_t end = text_.size();
  while (end > begin && (static_cast<unsigned char>(text_[end - 1]) & 0xC0U) == 0x80U) {
    --end;
  }
  text_.resize(end > begin ? end - 1 : begin);
}

void DrawnRows::end_line(std::string& lines) {
  const bool may_come_back = is_drawn_ || climbed_ > 0 || (text_.empty() && !held_.empty());
  const bool is_kept = may_come_back && text_.size() <= kLongestRow && held_.size() < kMostHeld;
  climbed_ -= std::min<std::size_t>(climbed_, 1);
  held_.push_back(std::exchange(text_, {}));
  has_returned_ = is_drawn_ = false;
  if (!is_kept) {
    give_out(held_.size(), lines);
  }
}

void DrawnRows::give_out(std::size_t count, std::string& lines) {
  settled_ -= std::min(settled_, count);
  for (; count > 0; --count) {
    lines.append(prefix_).append(ended(std::move(held_.front()))) += '\n';
    held_.pop_front();
  }
}

void DrawnRows::settle(std::string& lines) {
  give_out(settled_, lines);
  settled_ = held_.size();
}

void DrawnRows::finish(std::string& lines) {
  held_.push_back(std::exchange(text_, {}));
  while (!held_.empty() && has_nothing_to_see(held_.back())) {
    held_.pop_back();
  }
  give_out(held_.size(), lines);
}

bool DrawnRows::is_done() const {
  const bool is_begun = !text_.empty() || has_returned_ || is_drawn_ || parser_.is_within_sequence();
  return !is_begun && held_.empty() && climbed_ == 0;
}

bool DrawnRows::is_plain() const {
  return held_.empty() && !is_drawn_ && !has_nothing_to_see(text_);
}

std::string DrawnRows::row() const {
  const bool is_last = has_nothing_to_see(text_) && !held_.empty();
  const std::string_view shown = is_last ? held_.back() : text_;
  return has_nothing_to_see(shown) ? std::string() : prefix_ + std::string(shown.substr(0, kLongestRow));
}

}  // namespace muster
