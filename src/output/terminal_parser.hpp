#pragma once

// Parses terminal control sequences, and models the first columns of the terminal's current line. Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Columns between two tab stops.
inline constexpr std::size_t kTab = 8;
/// The beginning of each message of muster.
inline constexpr std::string_view kBeginning = "muster: ";
/// Placeholder for a character that is not in any beginning.
inline constexpr char kOther = '\x7f';

/// Tracks the first columns of the current line, in whatever order they are written, moved or erased. Pure.
class TerminalLine {
 public:
  /// Width of the terminal; 0: unknown, and no line goes on in the next row.
  void set_width(std::size_t columns) { width_ = columns; }
  /// Messages of muster may also begin with a host name: "[gpu-17] muster: ".
  void expect_hosts() { has_hosts_ = true; }

  /// Puts a character that is `columns` wide; an unreadable one is put as a placeholder.
  void put(char letter, std::size_t columns = 1);
  /// Puts the last character again.
  void repeat(std::size_t times);
  void tab(std::size_t times = 1);
  void back_tab(std::size_t times);
  void back(std::size_t columns);
  void forward(std::size_t columns);
  void go_to(std::size_t column);
  /// Saves the column for `restore`, which may happen in another line.
  void save() { saved_ = column_; }
  void restore();
  /// Moves to another line, in the same column. Which line and its content are unknown; it may be the same one.
  void change_row() { doubt(); }
  /// Sets insert mode: new characters move those behind them.
  void insert_from_now_on(bool is_on) { is_inserting_ = is_on; }
  /// Sets whether a long line goes on in the next row.
  void wrap_from_now_on(bool is_on) { is_wrapping_ = is_on; }
  /// Restores the initial state of a terminal.
  void reset();
  /// Begins a new line.
  void begin();
  /// Continues the line in a new row.
  void begin_row();
  /// Marks the column as uncertain: it is unknown, or differs between terminals.
  void doubt() { is_doubtful_ = true; }
  void erase_behind();
  void erase_before();
  void erase(std::size_t columns);
  void take_out(std::size_t columns);
  void insert(std::size_t columns);

  /// The text "muster: " (or with a host) that the line begins with; empty if it does not.
  [[nodiscard]] std::string_view beginning() const;
  /// True when the last text looks like the beginning of a message of muster, and on some terminal a row may begin
  /// with it.
  [[nodiscard]] bool may_begin() const;
  /// Notes that the last text has been marked.
  void note_mark() { said_ = 0; }

 private:
  void wrap(std::size_t columns);
  void follow(char letter);
  void write(char letter);
  void grow(std::size_t columns);

  std::size_t width_ = 0;
  bool has_hosts_ = false;
  bool is_doubtful_ = false;
  bool is_inserting_ = false;
  bool is_wrapping_ = true;
  std::size_t said_ = 0;  ///< letters of a beginning that match so far
  std::size_t column_ = 0;
  std::size_t saved_ = 0;  ///< the column that `save` saved
  char last_ = ' ';        ///< the last character that was put
  std::string cells_;      ///< up to the last column that was written or that the cursor passed
};

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

  [[nodiscard]] Event take(char c);

  /// True within an unfinished sequence, such as a title, that takes the bytes that follow.
  [[nodiscard]] bool is_within_sequence() const { return place_ != Place::Text; }
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

  [[nodiscard]] Event take_text(char c);
  [[nodiscard]] Event take_long_character(char c);
  [[nodiscard]] Event begin_with(char second);
  [[nodiscard]] Event take_choice(char c);
  [[nodiscard]] Event take_sequence(char c);
  [[nodiscard]] Event take_string(char c);

  Place place_ = Place::Text;
  std::string character_;     ///< the bytes of a multi-byte character so far
  bool is_complete_ = false;  ///< `character_` is complete
  std::string text_;          ///< text between the beginning and the end of a sequence or choice
};

/// The numbers of a sequence such as "5;12". Missing and invalid ones are 0.
[[nodiscard]] std::vector<int> numbers_of(std::string_view text);

/// A repeat count or position: the default is 1, and 0 means 1 too.
[[nodiscard]] std::size_t count_at(std::size_t index, const std::vector<int>& numbers);

}  // namespace muster
