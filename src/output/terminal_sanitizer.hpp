#pragma once

// Marks text of workers that imitates muster's messages on a terminal, and restores changed terminals. Pure.

#include "output/terminal_parser.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Changes that a control makes beyond the current line.
struct ControlEffect {
  bool is_changed = false;              ///< in more than colours
  std::optional<bool> is_other_screen;  ///< empty: the screen does not change
};

/// Applies "ESC last". Returns whether it changes the terminal.
bool obey_escape(TerminalLine& line, char last);

/// Applies "ESC [ control last". When the cursor leaves the line, its column stays known and its row does not.
[[nodiscard]] ControlEffect obey_control(TerminalLine& line, std::string_view control, char last);

/// Reads the bytes that workers write to a terminal, as the terminal does, so that messages of muster are
/// recognizable and cannot be imitated in passing. It changes only this:
///
///  - Text that looks like the beginning of a message of muster gets a mark where a line begins, however it got
///    there: in pieces, over other text, or because the line before was wider than the terminal. Behind characters
///    that are not ASCII it gets a mark anywhere: their width differs between terminals.
///  - Before a message of muster the terminal is restored if a worker has changed it, for example to invisible
///    letters, or is within an unfinished sequence.
///
/// Workers without a prefix own the screen: what they draw elsewhere on it is theirs.
class TerminalSanitizer {
 public:
  /// Width of the terminal in columns; without it no line goes on in the next row.
  void set_width(std::size_t columns) { line_.set_width(columns); }
  /// Messages of muster may begin with a host name.
  void expect_hosts() { line_.expect_hosts(); }

  /// Marks the column as uncertain, because another program may have moved the cursor.
  void doubt_line() { line_.doubt(); }

  /// Returns the bytes to write in place of these bytes of a worker.
  [[nodiscard]] std::string show(std::string_view bytes);

  /// Returns the bytes to write before a message of muster, usually none.
  [[nodiscard]] std::string write_reset();

 private:
  void mark(std::string& shown);
  void write_mark(std::string_view way, std::string_view beginning, std::string& shown);
  void take(char c);
  void obey(char control);
  void put(std::string_view character);
  void choose(std::string_view what);
  void obey_sequence(std::string_view text, char last);

  TerminalParser parser_;
  TerminalLine line_;  ///< the current line
  bool is_coloured_ = false;
  bool is_changed_ = false;  ///< in more than colours
  bool is_painted_ = false;  ///< palette or default colours may have changed
  bool is_other_screen_ = false;
};

}  // namespace muster
