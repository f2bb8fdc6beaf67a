#pragma once

#include "output/cell_row.hpp"
#include "output/live_rows.hpp"
#include "output/terminal_parser.hpp"

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

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
