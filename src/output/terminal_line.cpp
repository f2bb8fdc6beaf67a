// A line of a terminal as cells, of which only the first matter: there it is seen who speaks.
#include "output/terminal_line.hpp"

#include <algorithm>

namespace muster {
namespace {

/// Room for the longest name of a host, and a beginning.
constexpr std::size_t kMostCells = 280;
constexpr std::size_t kTab = 8;

/// "1:12" and "3": what stands in brackets before the lines of workers. Names of hosts have no colon, and addresses of version 6
/// more than one.
bool is_of_worker(std::string_view name) {
  return std::count(name.begin(), name.end(), ':') == 1 ||
         name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Of the name in brackets that a line begins with, the blank behind it included; 0: it begins with none.
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

/// Behind the last column a line goes on in the next one, or the last column is written over.
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

/// A letter of no beginning that comes between is passed over where it may take no column.
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
  doubt();  // some terminals do it within this line only
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
  return line.substr(name).starts_with(kBeginning) ? line.substr(0, name + kBeginning.size())
                                                   : std::string_view();
}

}  // namespace muster
