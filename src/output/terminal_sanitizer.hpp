#pragma once

#include "output/terminal_parser.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// What a control has changed beyond the line.
struct ControlEffect {
  bool is_changed = false;              ///< in more than colours
  std::optional<bool> is_other_screen;  ///< empty: the screen is the one that it was
};

/// Does what a terminal does at "ESC last". Whether it changes anything.
bool obey_escape(TerminalLine& line, char last);

/// Does what a terminal does at "ESC [ control last". Of a cursor that leaves the line the column is known, and not the row.
[[nodiscard]] ControlEffect obey_control(TerminalLine& line, std::string_view control, char last);

/// Reads what workers write to a terminal, as the terminal does, so that lines of muster's own are seen as they are and cannot
/// be imitated in passing. It changes nothing but this:
///
///  - Text that looks like the beginning of a line of muster's gets a mark where a line begins: however it has come to stand
///    there, also in pieces, over other text, or because the line before it was longer than the terminal is wide. Behind
///    characters that are not ASCII it gets one wherever it stands: how wide those are each terminal knows for itself.
///  - Before a line of muster's own the terminal is brought back to its usual ways, if a worker has changed them: with
///    letters that are invisible, say, or within a sequence that has no end.
///
/// Where workers have no prefix they own the screen: what they draw elsewhere on it is theirs.
class TerminalSanitizer {
 public:
  /// Of the terminal, in columns; without it no line goes on in the next one.
  void set_width(std::size_t columns) { line_.set_width(columns); }
  /// Lines of muster's may begin with the name of a host.
  void expect_hosts() { line_.expect_hosts(); }

  /// Somebody else may have moved the cursor: where in this line what follows stands nobody knows.
  void doubt_line() { line_.doubt(); }

  /// What is to be written in place of these bytes of a worker.
  [[nodiscard]] std::string show(std::string_view bytes);

  /// What is to be written before a line of muster's own, usually nothing.
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
  TerminalLine line_;  ///< where the cursor is
  bool is_coloured_ = false;
  bool is_changed_ = false;  ///< in more than colours
  bool is_painted_ = false;  ///< its own colours may be others
  bool is_other_screen_ = false;
};

}  // namespace muster
