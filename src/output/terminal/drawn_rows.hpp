#pragma once

// Keeps the unfinished text of each worker as one row at the foot of a terminal, below all lines. Pure.

#include "output/terminal/terminal_parser.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The rows at the foot of a terminal, one for each worker that has an unfinished line. They are erased before lines
/// are written, and drawn again after them. Pure.
class LiveRows {
 public:
  static constexpr std::size_t kMost = 8;

  /// Size of the terminal; 0: unknown. At most half of its height is used.
  void set_size(std::size_t rows, std::size_t columns);
  /// Sets the row of a worker, empty for none; the screen changes at the next `draw`.
  void set(std::size_t worker, std::string row);

  bool is_empty() const { return of_.empty() && drawn_.empty(); }
  /// True when the rows on the screen are outdated.
  bool is_outdated() const { return is_outdated_ && !is_left_; }
  /// Output that erases the drawn rows; the cursor is then at the beginning of the first one. A terminal that has
  /// become narrower has broken them into more rows.
  std::string erase();
  /// Output that draws the rows, each with a line end; to be written at the start of a line.
  std::string draw();
  /// Leaves the rows as they are because another program writes below them: nothing is outdated until `come_back`.
  void leave();
  void come_back() { is_left_ = false; }

 private:
  std::map<std::size_t, std::string> of_;  ///< by worker; none is empty
  std::size_t height_ = 0;
  std::size_t width_ = 0;
  std::vector<std::size_t> drawn_;  ///< columns of each row on the screen
  bool is_outdated_ = false;
  bool is_left_ = false;
};

/// The row of one worker that overwrites its line, as progress bars do: the text since the last line end or carriage
/// return, with its colours. Other controls are left out. A line that ends after it was overwritten is held for a
/// while: programs with two bars move the cursor up to it again, and then it becomes the row again. Pure.
class DrawnRows {
 public:
  /// Longer lines are given out in pieces, to bound memory.
  static constexpr std::size_t kLongestLine = std::size_t{16} << 20U;

  /// `prefix` is put before the row and each line.
  explicit DrawnRows(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Appends to `lines` the text that these bytes make final.
  void feed(std::string_view bytes, std::string& lines);
  /// To be called periodically: appends the lines that were held at the last call and have not been taken back.
  void settle(std::string& lines);
  /// True when `settle` may append more without new input.
  bool may_settle() const { return !held_.empty(); }
  /// Appends all text.
  void finish(std::string& lines);

  /// True when nothing is left: a new line begins.
  bool is_done() const;
  /// True for text that has overwritten nothing, such as "(Pdb) ".
  bool is_plain() const;
  /// The row with its prefix; empty: there is none.
  std::string row() const;

 private:
  void obey(char control, std::string& lines);
  void obey_sequence(std::string_view text, char last);
  void begin_again();
  void take_back_character();
  void end_line(std::string& lines);
  void give_out(std::size_t count, std::string& lines);

  std::string prefix_;
  TerminalParser parser_;
  std::string text_;              ///< of the row
  std::deque<std::string> held_;  ///< lines that were overwritten, and may be again
  std::size_t settled_ = 0;       ///< how many of `held_` were there at the last `settle`
  std::size_t climbed_ = 0;       ///< rows that the cursor has gone up, and not down again
  bool has_returned_ = false;     ///< the next character begins the row again
  bool is_drawn_ = false;         ///< the row was overwritten
};

}  // namespace muster
