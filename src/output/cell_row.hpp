#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The cells of one row of a terminal. Pure.
class CellRow {
 public:
  /// A character that takes so many columns (0: it is drawn over the one before), in colours as "31;1" names them.
  void put(std::size_t column,
           std::string_view character,
           std::size_t columns,
           const std::string& style);
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

}  // namespace muster
