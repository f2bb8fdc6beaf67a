// A small terminal for what a worker draws: of the controls of https://invisible-island.net/xterm/ctlseqs/ctlseqs.html those that stay
// in its rows.
#include "base/columns.hpp"
#include "base/visible.hpp"
#include "output/drawn_rows.hpp"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kMostColumns = 500;  // memory has a bound
constexpr std::size_t kMostRows = 100;
constexpr std::size_t kTab = 8;

std::size_t bounded(std::size_t size, std::size_t most) {
  return size == 0 ? most : std::min(size, most);
}

}  // namespace

void DrawnRows::set_size(std::size_t rows, std::size_t columns) {
  height_ = rows;
  width_ = columns;
}

void DrawnRows::feed(std::string_view bytes, std::string& lines) {
  using Kind = TerminalParser::Kind;
  for (const char c : bytes) {
    const TerminalParser::Event event = parser_.take(c);
    if (event.kind == Kind::Control) {
      end_climb(lines);
      obey(event.last);
    } else if (event.kind == Kind::Character) {
      end_climb(lines);
      put(event.text);
    } else if (event.kind == Kind::Sequence) {
      obey_sequence(event.text, event.last);
    }
    if (rows_.size() > bounded(height_, kMostRows)) {
      give_out(1, lines);  // it has left the worker's terminal
    }
  }
  stays_hidden_ = is_hidden_;
  while (const std::size_t plain = is_hidden_ ? 0 : rows_of_plain_line()) {
    give_out(plain, lines);
  }
  forget_empty_rows();
}

/// A line end may come even within a sequence.
void DrawnRows::obey(char control) {
  if (control == '\n') {
    next_row();
    column_ = 0;
    parser_.reset();
  } else if (control == '\r') {
    column_ = 0;
    has_returned_ = true;
  } else if (control == '\b') {
    move('D', 1);
  } else if (control == '\t') {
    move('C', kTab - column_ % kTab);
  }
}

void DrawnRows::next_row() {
  has_returned_ = false;
  ++row_;
  if (row_ == rows_.size()) {
    rows_.emplace_back();
  }
}

/// What a terminal does not show as it is stands there as an escape.
void DrawnRows::put(std::string_view character) {
  const std::string tamed = sanitize(character);
  if (tamed == character) {
    put_cell(character, static_cast<std::size_t>(display_width(character)));
    return;
  }
  for (const char& c : tamed) {
    put_cell({&c, 1}, 1);
  }
}

void DrawnRows::put_cell(std::string_view character, std::size_t columns) {
  if (column_ + columns > bounded(width_, kMostColumns)) {
    row().goes_on = true;
    next_row();
    column_ = 0;
  }
  row().is_drawn = row().is_drawn || has_returned_;
  row().cells.put(column_, character, columns, style_);
  column_ += columns;
}

void DrawnRows::obey_sequence(std::string_view text, char last) {
  if (last == 'l' || last == 'h') {
    set_mode(text, last == 'h');
    return;
  }
  if (text.find_first_not_of("0123456789;:") != std::string_view::npos) {
    return;
  }
  if (last == 'm') {
    style_ = style_after(style_, text);
    return;
  }
  const std::vector<int> numbers = numbers_of(text);
  const std::size_t count = count_at(0, numbers);
  switch (last) {
    case 'G':
      column_ = 0;
      move('C', count - 1);
      break;
    case 'C':
    case 'D':
      move(last, count);
      break;
    case 'J':
      if (numbers.empty() || numbers.front() == 0) {
        rows_.resize(row_ + 1);
        erase_line(0);
      }
      break;
    case 'K':
      erase_line(numbers.empty() ? 0 : numbers.front());
      break;
    default:
      change_row(last, numbers);
  }
}

void DrawnRows::set_mode(std::string_view mode, bool is_on) {
  if (mode == "?25") {
    is_hidden_ = !is_on;
  } else if (mode == "?2004") {
    is_edited_ = is_on;
  }
}

void DrawnRows::change_row(char last, const std::vector<int>& numbers) {
  const std::size_t count = std::min(count_at(0, numbers), kMostColumns);
  switch (last) {
    case 'A':
    case 'F':
      row_ -= std::min(count, row_);
      column_ = last == 'F' ? 0 : column_;
      highest_ = std::min(highest_, row_);
      has_climbed_ = true;
      break;
    case 'B':
    case 'E':
      row_ = std::min(row_ + count, rows_.size() - 1);
      column_ = last == 'E' ? 0 : column_;
      break;
    case '@':
      row().cells.insert(column_, count);
      row().cells.erase(bounded(width_, kMostColumns), kMostColumns);
      break;
    case 'P':
      row().cells.take_out(column_, count);
      break;
    case 'X':
      row().cells.erase(column_, count);
      break;
    default:
      return;
  }
  row().is_drawn = true;
}

void DrawnRows::move(char last, std::size_t count) {
  const std::size_t end = bounded(width_, kMostColumns) - 1;
  column_ = std::min(column_, end);
  column_ = last == 'D' ? column_ - std::min(count, column_) : std::min(column_ + count, end);
  row().is_drawn = row().is_drawn || last == 'D';
}

/// 0: behind the cursor, 1: before it, 2: both.
void DrawnRows::erase_line(int what) {
  if (what == 1) {
    row().cells.erase(0, std::min(column_ + 1, row().cells.size()));
  } else {
    row().cells.erase(what == 0 ? column_ : 0, kMostColumns);
    row().goes_on = false;
  }
  row().is_drawn = true;
}

/// Of the first line, if it has ended and nothing was drawn in it; else 0.
std::size_t DrawnRows::rows_of_plain_line() const {
  for (std::size_t i = 0; i < row_ && !rows_[i].is_drawn; ++i) {
    if (!rows_[i].goes_on) {
      return i + 1;
    }
  }
  return 0;
}

/// Where the line of a row begins, which may go on over several.
std::size_t DrawnRows::first_of_line(std::size_t row) const {
  std::size_t first = row;
  while (first > 0 && rows_[first - 1].goes_on) {
    --first;
  }
  return first;
}

/// Who draws for long, and hides the cursor meanwhile, goes up to its first row each time: what is above that is final.
void DrawnRows::end_climb(std::string& lines) {
  if (std::exchange(has_climbed_, false) && stays_hidden_ && is_hidden_) {
    give_out(first_of_line(row_), lines);
  }
}

void DrawnRows::give_out(std::size_t count, std::string& lines) {
  bool begins = true;
  for (; count > 0; --count) {
    const Row& first = rows_.front();
    lines += begins ? prefix_ : std::string();
    lines += first.cells.text(kMostColumns);
    begins = !first.goes_on || count == 1;
    lines += begins ? "\n" : "";
    rows_.pop_front();
    row_ -= std::min<std::size_t>(row_, 1);
    highest_ -= std::min<std::size_t>(highest_, 1);
  }
  if (rows_.empty()) {
    rows_.emplace_back();
    column_ = 0;
  }
}

void DrawnRows::forget_empty_rows() {
  while (rows_.size() > row_ + 1 && rows_.back().cells.is_blank()) {
    rows_.pop_back();
  }
}

void DrawnRows::settle(std::string& lines) {
  if (!is_hidden_) {
    give_out(first_of_line(highest_), lines);
  }
  highest_ = row_;
}

void DrawnRows::settle_before_prompt(std::string& lines) {
  if (!is_hidden_ && is_behind_text()) {
    give_out(first_of_line(row_), lines);
  }
}

/// In the last row, of which nothing was written over.
bool DrawnRows::is_behind_text() const {
  return row_ + 1 == rows_.size() && !rows_.back().is_drawn && !rows_.back().cells.is_blank();
}

void DrawnRows::finish(std::string& lines) {
  while (!rows_.empty() && rows_.back().cells.is_blank()) {
    rows_.pop_back();
  }
  row_ = 0;
  give_out(rows_.size(), lines);
  is_hidden_ = false;
  is_edited_ = false;
}

bool DrawnRows::is_done() const {
  return rows_.size() == 1 && column_ == 0 && rows_.front().cells.is_blank() && style_.empty() &&
         !is_hidden_ && !is_edited_ && !parser_.is_within_sequence();
}

bool DrawnRows::is_plain() const {
  return rows_.size() == 1 && is_behind_text() && !is_hidden_;
}

ShownRows DrawnRows::shown(bool has_cursor) const {
  std::size_t count = rows_.size();
  while (count > 0 && rows_[count - 1].cells.is_blank()) {
    --count;
  }
  ShownRows shown;
  const std::size_t width = bounded(width_, kMostColumns);
  for (std::size_t i = 0; i < count; ++i) {
    shown.rows.push_back(prefix_ + rows_[i].cells.text(width));
  }
  if (has_cursor && !is_hidden_ && row_ < count) {
    const std::size_t column = std::min(column_, width - 1);
    shown.cursor = {{.row = row_, .before = prefix_ + rows_[row_].cells.text_before(column)}};
  }
  return shown;
}

}  // namespace muster
