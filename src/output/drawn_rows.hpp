#pragma once

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
  /// A character that takes so many columns (0: it is drawn over the one before), in colours as "31;1" names them.
  void put(std::size_t column, std::string_view character, std::size_t columns, const std::string& style);
  /// Blanks stand there from now on.
  void erase(std::size_t column, std::size_t count);
  /// Blanks, before which nothing moves.
  void insert(std::size_t column, std::size_t count);
  void take_out(std::size_t column, std::size_t count);

  /// Columns up to the last one that was written.
  [[nodiscard]] std::size_t size() const { return cells_.size(); }
  /// Nothing is to be seen there.
  [[nodiscard]] bool is_blank() const;
  /// The first columns, as bytes for a terminal; what is blank behind the text is left out.
  [[nodiscard]] std::string text(std::size_t columns) const;
  /// All that stands before a column, so that the cursor comes to stand there.
  [[nodiscard]] std::string text_before(std::size_t column) const;

 private:
  /// Of a character of two columns the second one is empty.
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

/// The colours after a sequence "ESC [ text m", where they were `style` before.
[[nodiscard]] std::string style_after(const std::string& style, std::string_view text);

/// The place of the cursor in the rows.
struct CursorPlace {
  std::size_t row = 0;
  std::string before;  ///< what stands before it in that row, as bytes
  bool operator==(const CursorPlace&) const = default;
};

/// From below all rows to the cursor.
struct CursorPath {
  std::string up;      ///< moves it to the beginning of its row
  std::string before;  ///< what stands there already, as in `CursorPlace`
};

/// Rows that a worker may still change, as they are to be shown.
struct ShownRows {
  std::vector<std::string> rows;      ///< none wider than the terminal
  std::optional<CursorPlace> cursor;  ///< of who is typed to
  bool operator==(const ShownRows&) const = default;
};

/// The last rows of a terminal, below all lines: those that workers may still change, one worker's below the other's. They are taken
/// away before lines are written, and drawn again behind them. Pure.
class LiveRows {
 public:
  /// Of the terminal, in rows; half of it is for these. 0: nobody knows.
  void set_height(std::size_t rows);
  /// From now on a worker has these; what is drawn does not change by that.
  void set(std::size_t worker, ShownRows rows);

  /// True when the rows on the screen are outdated.
  [[nodiscard]] bool is_outdated() const { return is_outdated_ && !is_left_; }
  /// Takes away what is drawn; the cursor stands at the beginning of its first row then.
  [[nodiscard]] std::string erase();
  /// The rows, each with a line end, to be written where a line begins.
  [[nodiscard]] std::string draw();
  /// To be written directly behind them. Empty: nobody is typed to.
  [[nodiscard]] std::optional<CursorPath> way_to_cursor() const;
  /// Leaves the rows as they are, for somebody else writes below them from now on: nothing is outdated until `come_back`.
  [[nodiscard]] std::string leave();
  void come_back() { is_left_ = false; }

 private:
  [[nodiscard]] std::size_t count_all() const;
  [[nodiscard]] std::vector<std::string> choose();
  void choose_of(const ShownRows& shown, std::size_t count, bool is_typed_to, std::vector<std::string>& chosen);

  std::map<std::size_t, ShownRows> of_;  ///< by worker; none is empty
  std::optional<std::size_t> typed_to_;  ///< who had a cursor last
  std::size_t height_ = 0;
  std::size_t drawn_ = 0;              ///< rows
  std::optional<CursorPlace> cursor_;  ///< in those that are drawn
  bool is_outdated_ = false;
  bool is_left_ = false;
};

/// The last rows of what one worker has written, as far as it may still change them: a progress bar, a prompt, a line that is
/// edited. The worker moves, erases, inserts and takes out within them, as on a terminal of its own that begins with
/// them; whatever else would change a terminal is left out. A row that can change no more is given out as a line. Pure.
class DrawnRows {
 public:
  /// `prefix` stands before each row and each line.
  explicit DrawnRows(std::string prefix) : prefix_(std::move(prefix)), rows_(1) {}

  /// As large as the worker's terminal, without the prefix; 0: nobody knows.
  void set_size(std::size_t rows, std::size_t columns);

  /// Appends to `lines` what becomes final by these bytes.
  void feed(std::string_view bytes, std::string& lines);
  /// To be called from time to time: who goes up again and again would have done so, thus appends what is above all rows that the
  /// cursor has been in since the last call. Who hides the cursor draws until it is seen again.
  void settle(std::string& lines);
  /// Nothing has come for a moment: appends what is above the cursor if that stands behind plain text, such as "(Pdb) ".
  void settle_before_prompt(std::string& lines);
  /// `settle` may still append something, though nothing comes.
  [[nodiscard]] bool may_settle() const { return !is_hidden_ && first_of_line(row_) > 0; }
  /// Appends all that is there.
  void finish(std::string& lines);

  /// Nothing is there any more: a line begins, in the usual colours.
  [[nodiscard]] bool is_done() const;
  /// A single row, in which no cursor has moved, such as "(Pdb) ".
  [[nodiscard]] bool is_plain() const;
  /// The worker lets a line be edited, for which it wants to know what is pasted: readline and others do.
  [[nodiscard]] bool is_edited() const { return is_edited_; }
  [[nodiscard]] ShownRows shown(bool has_cursor) const;

 private:
  struct Row {
    CellRow cells;
    bool is_drawn = false;  ///< something in it was written over, or the cursor has moved there
    bool goes_on = false;   ///< in the next row, as it was too long
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
  std::size_t highest_ = 0;  ///< of the rows that it has been in since `settle`
  std::size_t column_ = 0;   ///< up to the width: the next character begins a new row there
  bool has_returned_ = false;
  bool has_climbed_ = false;   ///< and written nothing since
  bool is_hidden_ = false;     ///< the cursor
  bool stays_hidden_ = false;  ///< since what was written before
  bool is_edited_ = false;
};

}  // namespace muster
