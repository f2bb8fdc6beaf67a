#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

/// Knows the first columns of the line, whatever way they were written: over each other, moved, erased. Pure.
class TerminalLine {
 public:
  /// Of the terminal; 0: nobody knows, and no line goes on in the next.
  void set_width(std::size_t columns) { width_ = columns; }
  /// Lines that begin with the name of a host belong to muster, too: "[gpu-17] muster: ".
  void expect_hosts() { has_hosts_ = true; }

  /// A character that takes so many columns; one that cannot be read stands there as something.
  void put(char letter, std::size_t columns = 1);
  void tab();
  void back(std::size_t columns);
  void forward(std::size_t columns);
  void go_to(std::size_t column) { column_ = column; }
  /// A new line.
  void begin();
  void erase_behind();
  void erase_before();
  void erase(std::size_t columns);
  void take_out(std::size_t columns);
  void insert(std::size_t columns);

  /// How the line begins, if it is as a line of muster's does: "muster: ".
  [[nodiscard]] std::string_view beginning() const;

 private:
  void wrap(std::size_t columns);
  void write(char letter);
  void grow(std::size_t columns);

  std::size_t width_ = 0;
  bool has_hosts_ = false;
  std::size_t column_ = 0;
  std::string cells_;  ///< up to the last one in which something was, or over which the cursor went
};

}  // namespace muster
