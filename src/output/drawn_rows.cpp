// Models a small terminal for what a worker draws; of the controls in
// https://invisible-island.net/xterm/ctlseqs/ctlseqs.html it obeys those that stay within the worker's rows.
#include "output/drawn_rows.hpp"

#include "base/display_text.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace muster {

// Cells of one row: written over each other, and converted back to bytes.

void CellRow::reach(std::size_t columns) {
  cells_.resize(std::max(cells_.size(), columns));
}

/// Blanks both columns of a wide character that is partly overwritten.
void CellRow::split_at(std::size_t column) {
  if (column > 0 && column < cells_.size() && cells_[column].character.empty()) {
    cells_[column - 1].character = " ";
    cells_[column].character = " ";
  }
}

/// The character that ends before a column; null when the column before is not written.
std::string* CellRow::last_before(std::size_t column) {
  if (column == 0 || column > cells_.size()) {
    return nullptr;
  }
  const bool is_wide = column > 1 && cells_[column - 1].character.empty();
  return &cells_[column - (is_wide ? 2 : 1)].character;
}

void CellRow::put(std::size_t column, std::string_view character, std::size_t columns, const std::string& style) {
  constexpr std::size_t kLongestCharacter = 64;  // with combining characters
  if (columns == 0) {
    std::string* const last = last_before(column);
    if (last != nullptr && last->size() + character.size() <= kLongestCharacter) {
      *last += character;
    }
    return;
  }
  reach(column + columns);
  split_at(column);
  split_at(column + columns);
  cells_[column] = {std::string(character), style};
  for (std::size_t further = 1; further < columns; ++further) {
    cells_[column + further] = {"", style};
  }
}

void CellRow::erase(std::size_t column, std::size_t count) {
  split_at(column);
  if (count >= cells_.size() - std::min(column, cells_.size())) {
    cells_.resize(std::min(column, cells_.size()));
    return;
  }
  split_at(column + count);
  std::fill_n(cells_.begin() + static_cast<std::ptrdiff_t>(column), count, Cell());
}

void CellRow::insert(std::size_t column, std::size_t count) {
  split_at(column);
  if (column < cells_.size()) {
    cells_.insert(cells_.begin() + static_cast<std::ptrdiff_t>(column), count, Cell());
  }
}

void CellRow::take_out(std::size_t column, std::size_t count) {
  if (column >= cells_.size()) {
    return;
  }
  split_at(column);
  const std::size_t end = column + std::min(count, cells_.size() - column);
  split_at(end);
  cells_.erase(cells_.begin() + static_cast<std::ptrdiff_t>(column), cells_.begin() + static_cast<std::ptrdiff_t>(end));
}

bool CellRow::is_blank() const {
  return std::all_of(cells_.begin(), cells_.end(), [](const Cell& cell) { return cell == Cell(); });
}

std::string CellRow::text(std::size_t columns) const {
  std::size_t end = std::min(columns, cells_.size());
  while (end > 0 && cells_[end - 1] == Cell()) {
    --end;
  }
  return render(end);
}

std::string CellRow::text_before(std::size_t column) const {
  const std::size_t end = std::min(column, cells_.size());
  return render(end) + std::string(column - end, ' ');
}

std::string CellRow::render(std::size_t end) const {
  std::string text;
  std::string_view style;
  for (std::size_t column = 0; column < end; ++column) {
    const Cell& cell = cells_[column];
    if (cell.style != style) {
      style = cell.style;
      text += style.empty() ? "\x1b[m" : "\x1b[0;" + cell.style + "m";
    }
    text += cell.character;
  }
  return style.empty() ? text : text + "\x1b[m";
}

namespace {

/// Counts the numbers that form one attribute from `at` on: a colour has several, "38;5;1" and "48;2;1;2;3".
std::size_t count_together(const std::vector<std::string>& numbers, std::size_t at) {
  const std::string& first = numbers[at];
  const bool is_colour = first == "38" || first == "48" || first == "58";
  if (!is_colour || at + 1 == numbers.size()) {
    return 1;
  }
  const std::size_t count = numbers[at + 1] == "5" ? 3 : numbers[at + 1] == "2" ? 5 : 1;
  return std::min(count, numbers.size() - at);
}

}  // namespace

std::string style_after(const std::string& style, std::string_view text) {
  constexpr std::size_t kLongest = 128;
  if (text.empty()) {
    return {};
  }
  std::string after = style;
  const std::vector<std::string> numbers = split(text, ';');
  for (std::size_t i = 0; i < numbers.size();) {
    if (numbers[i].find_first_not_of('0') == std::string::npos) {
      after.clear();
      ++i;
      continue;
    }
    for (const std::size_t end = i + count_together(numbers, i); i < end; ++i) {
      after.append(after.empty() ? "" : ";").append(numbers[i].empty() ? "0" : numbers[i]);
    }
  }
  return after.size() > kLongest ? std::string() : after;
}

// Live rows: chooses the rows that fit, and draws them over the rows drawn before.

namespace {

std::string up(std::size_t rows) {
  return rows > 0 ? "\x1b[" + std::to_string(rows) + "A" : std::string();
}

}  // namespace

void LiveRows::set_height(std::size_t rows) {
  is_outdated_ = is_outdated_ || (rows != height_ && !of_.empty());
  height_ = rows;
}

void LiveRows::set(std::size_t worker, ShownRows rows) {
  const auto known = of_.find(worker);
  if (known == of_.end() ? rows.rows.empty() : known->second == rows) {
    return;
  }
  is_outdated_ = true;
  if (rows.cursor) {
    typed_to_ = worker;
  } else if (typed_to_ == worker) {
    typed_to_.reset();
  }
  if (rows.rows.empty()) {
    of_.erase(known);
  } else {
    of_.insert_or_assign(worker, std::move(rows));
  }
}

std::string LiveRows::erase() {
  if (drawn_ == 0) {
    return {};
  }
  const std::size_t below = cursor_ ? cursor_->row : drawn_;
  drawn_ = 0;
  cursor_.reset();
  is_outdated_ = !of_.empty();
  return "\r" + up(below) + "\x1b[J";
}

std::string LiveRows::draw() {
  const std::vector<std::string> rows = choose();
  drawn_ = rows.size();
  is_outdated_ = false;
  std::string text;
  for (const std::string& row : rows) {
    text.append(row) += '\n';
  }
  return text;
}

std::size_t LiveRows::count_all() const {
  std::size_t all = 0;
  for (const auto& [worker, shown] : of_) {
    all += shown.rows.size();
  }
  return all;
}

/// Chooses the rows to draw: first those of the worker that reads typed input, then the others in order while there
/// is room; the last row says how many are left out.
std::vector<std::string> LiveRows::choose() {
  constexpr std::size_t kUsualHeight = 24;
  const std::size_t most = std::max<std::size_t>((height_ > 0 ? height_ : kUsualHeight) / 2, 2);
  const std::size_t all = count_all();
  std::size_t room = all > most ? most - 1 : all;
  const auto typed_to = typed_to_ ? of_.find(*typed_to_) : of_.end();
  const std::size_t own = typed_to == of_.end() ? 0 : std::min(typed_to->second.rows.size(), room);
  room -= own;
  std::vector<std::string> chosen;
  for (auto it = of_.begin(); it != of_.end(); ++it) {
    const std::size_t count = it == typed_to ? own : std::min(it->second.rows.size(), room);
    room -= it == typed_to ? 0 : count;
    choose_of(it->second, count, it == typed_to, chosen);
  }
  if (all > chosen.size()) {
    chosen.push_back("... " + std::to_string(all - chosen.size()) + " more rows");
  }
  return chosen;
}

/// Chooses the last rows, the newest; of the worker that reads typed input, at least those down to the cursor.
void LiveRows::choose_of(const ShownRows& shown, std::size_t count, bool is_typed_to,
                         std::vector<std::string>& chosen) {
  std::size_t first = shown.rows.size() - count;
  if (is_typed_to) {
    first = std::min(first, shown.cursor->row);
    cursor_ = {.row = chosen.size() + shown.cursor->row - first, .before = shown.cursor->before};
  }
  const auto begin = shown.rows.begin() + static_cast<std::ptrdiff_t>(first);
  chosen.insert(chosen.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
}

std::optional<CursorPath> LiveRows::path_to_cursor() const {
  if (!cursor_) {
    return std::nullopt;
  }
  return CursorPath{.up = up(drawn_ - cursor_->row), .before = cursor_->before};
}

std::string LiveRows::leave() {
  const std::size_t below = cursor_ ? drawn_ - cursor_->row : 0;
  drawn_ = 0;
  cursor_.reset();
  is_outdated_ = !of_.empty();
  is_left_ = true;
  return below > 0 ? "\r\x1b[" + std::to_string(below) + "B" : std::string();
}

namespace {

constexpr std::size_t kMostColumns = 500;  // bounds memory
constexpr std::size_t kMostRows = 100;

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
      give_out(1, lines);  // it has scrolled out of the worker's terminal
    }
  }
  stays_hidden_ = is_hidden_;
  while (const std::size_t plain = is_hidden_ ? 0 : rows_of_plain_line()) {
    give_out(plain, lines);
  }
  forget_empty_rows();
}

/// Handles a control character. A line end may come even within a sequence.
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

/// Puts a character; one that a terminal does not show as it is becomes an escape.
void DrawnRows::put(std::string_view character) {
  const std::string sanitized = sanitize(character);
  if (sanitized == character) {
    put_cell(character, static_cast<std::size_t>(display_width(character)));
    return;
  }
  for (const char& c : sanitized) {
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

/// 0: erase behind the cursor, 1: before it, 2: both.
void DrawnRows::erase_line(int what) {
  if (what == 1) {
    row().cells.erase(0, std::min(column_ + 1, row().cells.size()));
  } else {
    row().cells.erase(what == 0 ? column_ : 0, kMostColumns);
    row().goes_on = false;
  }
  row().is_drawn = true;
}

/// Number of rows of the first line when it has ended and nothing was drawn in it; otherwise 0.
std::size_t DrawnRows::rows_of_plain_line() const {
  for (std::size_t i = 0; i < row_ && !rows_[i].is_drawn; ++i) {
    if (!rows_[i].goes_on) {
      return i + 1;
    }
  }
  return 0;
}

/// First row of the line that a row belongs to, which may span several rows.
std::size_t DrawnRows::first_of_line(std::size_t row) const {
  std::size_t first = row;
  while (first > 0 && rows_[first - 1].goes_on) {
    --first;
  }
  return first;
}

/// A program that draws for a long time, with the cursor hidden, returns to its first row each time: rows above that
/// are final.
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

/// True when the cursor is in the last row, which has text and of which nothing was overwritten.
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
  return rows_.size() == 1 && column_ == 0 && rows_.front().cells.is_blank() && style_.empty() && !is_hidden_ &&
         !is_edited_ && !parser_.is_within_sequence();
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
