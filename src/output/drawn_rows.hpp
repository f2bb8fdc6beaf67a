#pragma once

// Models the terminal rows that workers draw, and composes the rows below all lines of the console. Pure.

#include "output/terminal_parser.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The cells of one row of a terminal. Pure.
class CellRow {
 public:
  /// Writes a character that is `columns` wide (0: combined with the character before), in the colours `style`, such
  /// as "31;1".
  void put(std::size_t column, std::string_view character, std::size_t columns, const std::string& style);
  /// Replaces columns by blanks.
  void erase(std::size_t column, std::size_t count);
  /// Inserts blanks; the columns behind move right.
  void insert(std::size_t column, std::size_t count);
  void take_out(std::size_t column, std::size_t count);

  /// Columns up to the last one that was written.
  [[nodiscard]] std::size_t size() const { return cells_.size(); }
  /// True when nothing in the row is visible.
  [[nodiscard]] bool is_blank() const;
  /// The first `columns` columns as bytes for a terminal, without trailing blanks.
  [[nodiscard]] std::string text(std::size_t columns) const;
  /// The text before a column, so that writing it places the cursor there.
  [[nodiscard]] std::string text_before(std::size_t column) const;

 private:
  /// A character of two columns has an empty second cell.
  struct Cell {
    std::string character = " ";
    std::string style;
    bool operator==(const Cell&) const = default;
  };

  void reach(std::size_t columns);
  void split_at(std::size_t column);
  [[nodiscard]] std::string* last_before(std::size_t column);
  [[nodiscard]] std::string render(std::size_t end) const;

  std::vector<Cell> cells_;
};

/// The colours after a sequence "ESC [ text m", when they were `style` before.
[[nodiscard]] std::string style_after(const std::string& style, std::string_view text);

/// Position of the cursor in the rows.
struct CursorPlace {
  std::size_t row = 0;
  std::string before;  ///< text before the cursor in that row, as bytes
  bool operator==(const CursorPlace&) const = default;
};

/// The output that moves the cursor from below all rows to its position.
struct CursorPath {
  std::string up;      ///< moves the cursor to the beginning of its row
  std::string before;  ///< text that is there already, as in `CursorPlace`
};

/// Rows that a worker may still change, ready to be shown.
struct ShownRows {
  std::vector<std::string> rows;      ///< none wider than the terminal
  std::optional<CursorPlace> cursor;  ///< of the worker that reads typed input
  bool operator==(const ShownRows&) const = default;
};

/// The rows below all lines of the terminal that workers may still change, one worker's below the other's. They are
/// erased before lines are written, and drawn again after them. Pure.
class LiveRows {
 public:
  /// Height of the terminal in rows, half of which may be used; 0: unknown.
  void set_height(std::size_t rows);
  /// Sets the rows of a worker; the screen changes at the next `draw`.
  void set(std::size_t worker, ShownRows rows);

  /// True when the rows on the screen are outdated.
  [[nodiscard]] bool is_outdated() const { return is_outdated_ && !is_left_; }
  /// Output that erases the drawn rows; the cursor is then at the beginning of the first one.
  [[nodiscard]] std::string erase();
  /// Output that draws the rows, each with a line end; to be written at the start of a line.
  [[nodiscard]] std::string draw();
  /// Output to be written directly after `draw`. Empty: no worker reads typed input.
  [[nodiscard]] std::optional<CursorPath> path_to_cursor() const;
  /// Leaves the rows as they are because another program writes below them: nothing is outdated until `come_back`.
  [[nodiscard]] std::string leave();
  void come_back() { is_left_ = false; }

 private:
  [[nodiscard]] std::size_t count_all() const;
  [[nodiscard]] std::vector<std::string> choose();
  void choose_of(const ShownRows& shown, std::size_t count, bool is_typed_to, std::vector<std::string>& chosen);

  std::map<std::size_t, ShownRows> of_;  ///< by worker; none is empty
  std::optional<std::size_t> typed_to_;  ///< the worker that had a cursor last
  std::size_t height_ = 0;
  std::size_t drawn_ = 0;              ///< number of rows on the screen
  std::optional<CursorPlace> cursor_;  ///< in the rows on the screen
  bool is_outdated_ = false;
  bool is_left_ = false;
};

/// The last rows of one worker's output that it may still change: a progress bar, a prompt, a line being edited. The
/// worker moves, erases, inserts and deletes within them, as on a terminal of its own that begins with them; any
/// other terminal control is dropped. A row that can change no more is given out as a line. Pure.
class DrawnRows {
 public:
  /// `prefix` is put before each row and each line.
  explicit DrawnRows(std::string prefix) : prefix_(std::move(prefix)), rows_(1) {}

  /// Size of the worker's terminal, without the prefix; 0: unknown.
  void set_size(std::size_t rows, std::size_t columns);

  /// Appends to `lines` the text that these bytes make final.
  void feed(std::string_view bytes, std::string& lines);
  /// To be called periodically: appends the rows above all rows that the cursor has been in since the last call,
  /// because a program that redraws would have gone back to them. While the cursor is hidden the program is still
  /// drawing, so nothing is appended.
  void settle(std::string& lines);
  /// To be called after a quiet moment: appends the rows above the cursor if the cursor is behind plain text, such as
  /// "(Pdb) ".
  void settle_before_prompt(std::string& lines);
  /// True when `settle` may append more without new input.
  [[nodiscard]] bool may_settle() const { return !is_hidden_ && first_of_line(row_) > 0; }
  /// Appends all rows.
  void finish(std::string& lines);

  /// True when no row is left: a new line begins, in the default colours.
  [[nodiscard]] bool is_done() const;
  /// True for a single row in which no cursor has moved, such as "(Pdb) ".
  [[nodiscard]] bool is_plain() const;
  /// True while the worker edits a line: it has enabled bracketed paste, as readline and others do.
  [[nodiscard]] bool is_edited() const { return is_edited_; }
  [[nodiscard]] ShownRows shown(bool has_cursor) const;

 private:
  struct Row {
    CellRow cells;
    bool is_drawn = false;  ///< a part of it was overwritten, or the cursor has moved in it
    bool goes_on = false;   ///< in the next row, because the line is too long
  };

  void obey(char control);
  void put(std::string_view character);
  void put_cell(std::string_view character, std::size_t columns);
  void obey_sequence(std::string_view text, char last);
  void set_mode(std::string_view mode, bool is_on);
  void change_row(char last, const std::vector<int>& numbers);
  void move(char last, std::size_t count);
  void erase_line(int what);
  void next_row();
  void end_climb(std::string& lines);
  void give_out(std::size_t count, std::string& lines);
  void forget_empty_rows();
  [[nodiscard]] std::size_t rows_of_plain_line() const;
  [[nodiscard]] std::size_t first_of_line(std::size_t row) const;
  [[nodiscard]] bool is_behind_text() const;
  [[nodiscard]] Row& row() { return rows_[row_]; }

  std::string prefix_;
  TerminalParser parser_;
  std::deque<Row> rows_;
  std::string style_;
  std::size_t height_ = 0;
  std::size_t width_ = 0;
  std::size_t row_ = 0;      ///< of the cursor
  std::size_t highest_ = 0;  ///< highest row that the cursor has been in since `settle`
  std::size_t column_ = 0;   ///< at most the width; there, the next character begins a new row
  bool has_returned_ = false;
  bool has_climbed_ = false;   ///< and has written nothing since
  bool is_hidden_ = false;     ///< the cursor
  bool stays_hidden_ = false;  ///< since before the last bytes
  bool is_edited_ = false;
};

}  // namespace muster
