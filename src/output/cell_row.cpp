// Columns of a row, written over each other, and back to bytes.
#include "base/text.hpp"
#include "output/cell_row.hpp"

#include <algorithm>

namespace muster {

void CellRow::reach(std::size_t columns) {
  cells_.resize(std::max(cells_.size(), columns));
}

/// Of a wide character that is written over in part nothing is left.
void CellRow::split_at(std::size_t column) {
  if (column > 0 && column < cells_.size() && cells_[column].character.empty()) {
    cells_[column - 1].character = " ";
    cells_[column].character = " ";
  }
}

/// The character that ends before a column; null: nothing stands there.
std::string* CellRow::last_before(std::size_t column) {
  if (column == 0 || column > cells_.size()) {
    return nullptr;
  }
  const bool is_wide = column > 1 && cells_[column - 1].character.empty();
  return &cells_[column - (is_wide ? 2 : 1)].character;
}

void CellRow::put(std::size_t column,
                  std::string_view character,
                  std::size_t columns,
                  const std::string& style) {
  constexpr std::size_t kLongestCharacter = 64;  // with all that is drawn over it
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
  cells_.erase(cells_.begin() + static_cast<std::ptrdiff_t>(column),
               cells_.begin() + static_cast<std::ptrdiff_t>(end));
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

/// How many numbers from here on belong together: those of a colour do, "38;5;1" and "48;2;1;2;3".
std::size_t count_together(const std::vector<std::string>& numbers, std::size_t at) {
  const std::string& first = numbers[at];
  const bool is_colour = first == "38" || first == "48" || first == "58";
  if (!is_colour || at + 1 == numbers.size()) {
    return 1;
  }
  const std::size_t count = numbers[at + 1] == "5" ? 3 : numbers[at + 1] == "2" ? 5 : 1;
  return std::min(count, numbers.size() - at);
}

void append_number(const std::string& number, std::string& style) {
  style.append(style.empty() ? "" : ";").append(number.empty() ? "0" : number);
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
      append_number(numbers[i], after);
    }
  }
  return after.size() > kLongest ? std::string() : after;
}

}  // namespace muster
