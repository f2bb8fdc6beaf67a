#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Tells text from sequences as a terminal does: https://vt100.net/emu/dec_ansi_parser, as far as it matters here. What a sequence
/// does is decided by who asks. Memory is bounded. Pure.
class TerminalParser {
 public:
  enum class Kind {
    Nothing,  ///< a byte in the middle of a sequence
    Control,  ///< one of ASCII, such as a return: `last`; it is obeyed within a sequence, too
    PartOfCharacter,  ///< a byte of a character that takes several, and is not complete
    Character,        ///< `text`: its bytes; of several bytes they may be no UTF-8
    Escape,           ///< "ESC last"
    Choice,           ///< "ESC text last", such as that of letters, "ESC ( B"
    Sequence,         ///< "ESC [ text last", without zeros that lead
    String            ///< the beginning of a string for the terminal, such as its title
  };

  /// What a byte has completed.
  struct Event {
    Kind kind = Kind::Nothing;
    char last = 0;
    std::string_view text;  ///< until the next byte
  };

  [[nodiscard]] Event take(char c);

  /// What was begun, such as a title, has no end yet, and takes what follows.
  [[nodiscard]] bool is_within_sequence() const { return place_ != Place::Text; }
  /// It was ended by other means.
  void reset();

 private:
  /// Where in a sequence the terminal is.
  enum class Place {
    Text,
    Escape,       ///< behind ESC
    Choice,       ///< behind the beginning of a choice, "ESC ("
    Sequence,     ///< behind the beginning of a sequence, "ESC ["
    String,       ///< within a string that is for the terminal
    StringEscape  ///< behind an ESC in it
  };

  [[nodiscard]] Event take_text(char c);
  [[nodiscard]] Event take_long_character(char c);
  [[nodiscard]] Event begin_with(char second);
  [[nodiscard]] Event take_choice(char c);
  [[nodiscard]] Event take_sequence(char c);
  [[nodiscard]] Event take_string(char c);

  Place place_ = Place::Text;
  std::string character_;     ///< of several bytes, as far as it is here
  bool is_complete_ = false;  ///< that one
  std::string text_;  ///< what stands between the beginning of a sequence, or a choice, and its end
};

/// Of a sequence: "5;12", of which any may be left out, and is 0 then. What is no number is 0, too.
[[nodiscard]] std::vector<int> numbers_of(std::string_view text);

/// How often, or where: 1 is the usual number, and 0 means it.
[[nodiscard]] std::size_t count_at(std::size_t index, const std::vector<int>& numbers);

}  // namespace muster
