#pragma once

// Marks lines of several workers that imitate muster's messages on a terminal, and restores a changed terminal. Pure.

#include "output/terminal/terminal_parser.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

/// `sanitize` for a line that another muster has marked (`TerminalSanitizer::mark`): keeps these marks.
std::string sanitize_marked(std::string_view line);

/// Keeps messages of muster recognizable on a terminal:
///
///  - In a job of several workers, "muster: " in a worker's line gets a mark wherever a row of the terminal may begin
///    with it. The position in the row follows from the text alone, because `sanitize` has removed all that moves the
///    cursor.
///  - Before a message of muster the terminal is restored if a worker has changed it, for example to invisible
///    letters, or is within an unfinished sequence.
///
/// A single worker without a prefix owns the screen: its bytes are not changed, and only remembered for the restoring.
class TerminalSanitizer {
 public:
  /// Width of the terminal in columns; without it no line goes on in the next row.
  void set_width(std::size_t columns) { width_ = columns; }
  /// Messages of muster may also begin with a host name: "[gpu-17] muster: ".
  void expect_hosts() { has_hosts_ = true; }

  /// Notes what a worker that owns the screen changes.
  void note(std::string_view bytes);

  /// Returns lines of several workers with the marks that they need. A line without its end may go on with the next
  /// call, and an Enter that was typed may have ended it, unseen.
  std::string mark(std::string_view lines);

  /// Returns the bytes to write before a message of muster, usually none. A new line begins behind them.
  std::string write_reset();

 private:
  TerminalParser::Event take(char c);
  void obey(char control);
  void put(std::string_view character);
  void put_letter(char letter, std::size_t columns);
  void begin_line();
  bool may_begin() const;

  TerminalParser parser_;
  std::size_t width_ = 0;
  bool has_hosts_ = false;
  std::string text_;            ///< the first ASCII characters of the line; a message of muster may begin in them
  std::size_t columns_ = 0;     ///< an upper bound of the columns that the line has taken
  std::size_t matching_ = 0;    ///< how many characters of "muster: " the line ends with so far
  bool is_unfinished_ = false;  ///< the line began in an earlier call: its column is not known
  bool is_coloured_ = false;
  bool is_changed_ = false;  ///< a worker has changed more than the colours of its text
  bool is_painted_ = false;  ///< a worker may have changed the palette or the default colours
  bool is_other_screen_ = false;
};

}  // namespace muster
