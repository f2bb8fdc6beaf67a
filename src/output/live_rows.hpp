#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

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
  void choose_of(const ShownRows& shown,
                 std::size_t count,
                 bool is_typed_to,
                 std::vector<std::string>& chosen);

  std::map<std::size_t, ShownRows> of_;  ///< by worker; none is empty
  std::optional<std::size_t> typed_to_;  ///< who had a cursor last
  std::size_t height_ = 0;
  std::size_t drawn_ = 0;              ///< rows
  std::optional<CursorPlace> cursor_;  ///< in those that are drawn
  bool is_outdated_ = false;
  bool is_left_ = false;
};

}  // namespace muster
