#pragma once

#include <muster/logs/terminal_line.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

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
class TerminalWatch {
 public:
  /// Of the terminal, in columns; without it no line goes on in the next one.
  void set_width(std::size_t columns) { line_.set_width(columns); }
  /// Lines of muster's may begin with the name of a host.
  void expect_hosts() { line_.expect_hosts(); }

  /// What is to be written in place of these bytes of a worker.
  [[nodiscard]] std::string show(std::string_view bytes);

  /// What is to be written before a line of muster's own, usually nothing.
  [[nodiscard]] std::string clear_the_way();

 private:
  /// Where in a sequence the terminal is.
  enum class Place {
    Text,
    Escape,       ///< behind ESC
    Choice,       ///< behind the beginning of a choice, such as that of letters, "ESC ("
    Control,      ///< behind the beginning of a control, "ESC ["
    String,       ///< within a string that is for the terminal, such as its title
    StringEscape  ///< behind an ESC in it
  };

  void mark(std::string& shown);
  void write_mark(std::string_view way, std::string_view beginning, std::string& shown);
  void take(char c);
  void take_text(char c);
  void take_long_character(char c);
  void begin_with(char second);
  void take_choice(char c);
  void take_control(char c);
  void end_control(char last);

  Place place_ = Place::Text;
  TerminalLine line_;      ///< where the cursor is
  std::string character_;  ///< of several bytes, as far as it is here
  std::string
      control_;  ///< what stands between the beginning of a control, or a choice, and its end
  bool is_coloured_ = false;
  bool is_changed_ = false;  ///< in more than colours
  bool is_painted_ = false;  ///< its own colours may be others
  bool is_other_screen_ = false;
};

}  // namespace muster
