#pragma once

// Parses terminal control sequences. Pure.

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

/// Columns between two tab stops.
inline constexpr std::size_t kTab = 8;

/// Tells text from control sequences as a terminal does: the parts of https://vt100.net/emu/dec_ansi_parser that
/// matter here. The caller decides what a sequence does. Memory is bounded. Pure.
class TerminalParser {
 public:
  enum class Kind {
    Nothing,          ///< a byte in the middle of a sequence
    Control,          ///< an ASCII control, such as a return: `last`; also within a sequence
    PartOfCharacter,  ///< a byte of a multi-byte character that is not complete yet
    Character,        ///< `text`: its bytes; several bytes may be invalid UTF-8
    Escape,           ///< "ESC last"
    Choice,           ///< "ESC text last", such as the choice of a character set, "ESC ( B"
    Sequence,         ///< "ESC [ text last", without leading zeros
    String            ///< the beginning of a string for the terminal, such as its title
  };

  /// The event that a byte completes.
  struct Event {
    Kind kind = Kind::Nothing;
    char last = 0;
    std::string_view text;  ///< valid until the next byte
  };

  Event take(char c);

  /// True within an unfinished sequence, such as a title, that takes the bytes that follow.
  bool is_within_sequence() const { return place_ != Place::Text; }
  /// Resets the state after the sequence was ended by other means.
  void reset();

 private:
  /// The position within a sequence.
  enum class Place {
    Text,
    Escape,       ///< behind ESC
    Choice,       ///< behind the beginning of a choice, "ESC ("
    Sequence,     ///< behind the beginning of a sequence, "ESC ["
    String,       ///< within a string for the terminal
    StringEscape  ///< behind an ESC in such a string
  };

  Event take_text(char c);
  Event take_long_character(char c);
  Event begin_with(char second);
  Event take_choice(char c);
  Event take_sequence(char c);
  Event take_string(char c);

  Place place_ = Place::Text;
  std::string character_;     ///< the bytes of a multi-byte character so far
  bool is_complete_ = false;  ///< `character_` is complete
  std::string text_;          ///< text between the beginning and the end of a sequence or choice
};

}  // namespace muster
